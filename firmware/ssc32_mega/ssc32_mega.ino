// SPDX-License-Identifier: Apache-2.0
/* An Arduino Mega 2560 as an SSC-32: 18 hobby servos over USB, 115200 baud. See README.md for the wiring.
 * The protocol is in ssc32.h, which is compiled and tested on the host. */
#include <Servo.h>

#include "ssc32.h"

const uint8_t FIRST_PIN = 22;  // channel 0; channel 17 is pin 39
const uint32_t PERIOD_MS = 10; // between two updates of the pulses; a servo gets one every 20 ms

static struct ssc32 board;
static Servo servos[SSC32_CHANNELS];
static uint16_t sent[SSC32_CHANNELS]; // [us]; 0: no pulse

static void send_pulse(uint8_t channel, uint16_t pulse) {
  if (pulse == sent[channel]) return;
  if (!pulse) {
    servos[channel].detach();
  } else {
    if (!sent[channel]) {
      servos[channel].writeMicroseconds(pulse); // before attach, else the first pulse is centered
      servos[channel].attach(FIRST_PIN + channel, SSC32_LOW, SSC32_HIGH);
    }
    servos[channel].writeMicroseconds(pulse);
  }
  sent[channel] = pulse;
}

static void receive_bytes() {
  static uint8_t reply[SSC32_REPLY];
  while (Serial.available() > 0) {
    uint8_t size = ssc32_feed(&board, (uint8_t)Serial.read(), millis(), reply);
    if (size) Serial.write(reply, size);
  }
}

void setup() {
  ssc32_init(&board);
  Serial.begin(115200);
  Serial.print("SSC32-MEGA\r\n"); // the host sends nothing until the bootloader is done
}

void loop() {
  static uint32_t last = 0;
  static uint8_t input = 0;
  receive_bytes();
  uint32_t now = millis();
  if (now - last < PERIOD_MS) return;
  last = now;
  ssc32_watch(&board, now);
  for (uint8_t i = 0; i < SSC32_CHANNELS; ++i) {
    send_pulse(i, ssc32_pulse(&board, i, millis())); // not `now`: a move received meanwhile would begin after it
    receive_bytes(); // the 64-byte buffer fills in 5 ms
  }
  board.inputs[input] = (uint8_t)(analogRead(A0 + input) >> 2);
  input = (input + 1) % SSC32_INPUTS;
}
