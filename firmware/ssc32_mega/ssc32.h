// SPDX-License-Identifier: Apache-2.0
/* The lines of an SSC-32 for 18 hobby servos: bytes in, pulses out. Plain C99, no Arduino, no clock, no I/O.
 *
 * A line ends with CR, which executes it; an invalid line is ignored as a whole:
 *   #<ch>P<us>[S<us/s>] ... [T<ms>]   move; 1..499 us become 500, more than 2500 becomes 2500, 0 is no pulse
 *   #<ch>L ...                        no pulse
 *   STOP<ch>                          halts a channel where it is
 *   Q                                 '.' if all moves are done, else '+'
 *   QP<ch> ...                        the pulses that are sent, one byte each, in 10 us; 0 is no pulse
 *   VA .. VH                          analog inputs, one byte each, in 5/256 V
 * ESC discards an unfinished line. Lower case is accepted, and spaces or LF between words. A channel without a pulse
 * jumps to its goal: T and S need a known position to start from. Unless a valid line arrives within
 * SSC32_TIMEOUT_MS, all pulses stop (dead-man switch).
 *
 * Times are milliseconds of any 32-bit counter that never decreases but may wrap around.
 */
#ifndef SSC32_H
#define SSC32_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define SSC32_CHANNELS 18
#define SSC32_INPUTS 8
#define SSC32_LINE 460      /* bytes; all channels of the real board with an S each */
#define SSC32_REPLY 230     /* bytes; the reply to the longest query: VAVB... */
#define SSC32_LOW 500       /* [us] */
#define SSC32_HIGH 2500     /* [us] */
#ifndef SSC32_TIMEOUT_MS
#define SSC32_TIMEOUT_MS 1000 /* 0: never */
#endif

struct ssc32_channel {
  uint16_t begin, end; /* [us]; 0 is no pulse */
  uint32_t start, duration; /* [ms]; duration 0 is a channel that stands still */
};

struct ssc32 {
  char line[SSC32_LINE + 1];
  uint16_t length;
  bool spoilt; /* this line is already invalid */
  bool spaced; /* a space came after the last letter */
  bool alive;  /* a valid line has arrived within the timeout */
  uint32_t last_line; /* [ms] when the last valid line arrived */
  struct ssc32_channel channels[SSC32_CHANNELS];
  uint8_t inputs[SSC32_INPUTS]; /* the sketch keeps them up to date */
};

static inline void ssc32_init(struct ssc32 *s) { memset(s, 0, sizeof *s); }

/* The pulse to send [us], 0 for none. */
static inline uint16_t ssc32_pulse(struct ssc32 *s, uint8_t channel, uint32_t now) {
  struct ssc32_channel *c = &s->channels[channel];
  uint32_t passed = now - c->start;
  if (c->duration && passed >= c->duration) c->duration = 0; /* before the counter has wrapped around */
  if (!c->duration) return c->end;
  /* a distance is at most 2000 us and a duration 2 000 000 ms (at 1 us/s): the product fits into 32 bits */
  if (c->end > c->begin) return (uint16_t)(c->begin + (uint32_t)(c->end - c->begin) * passed / c->duration);
  return (uint16_t)(c->begin - (uint32_t)(c->begin - c->end) * passed / c->duration);
}

static inline void ssc32_all_off(struct ssc32 *s) { memset(s->channels, 0, sizeof s->channels); }

/* The dead-man switch; call it often. */
static inline void ssc32_watch(struct ssc32 *s, uint32_t now) {
  if (SSC32_TIMEOUT_MS && s->alive && now - s->last_line >= SSC32_TIMEOUT_MS) {
    s->alive = false;
    ssc32_all_off(s);
  }
}

/* ---- parsing a line: every function advances `at`, and is false if the text does not match ---- */

static inline bool ssc32_word(const char **at, const char *word) {
  size_t size = strlen(word);
  if (strncmp(*at, word, size) != 0) return false;
  *at += size;
  return true;
}

/* One to five digits, at most 65535. */
static inline bool ssc32_number(const char **at, uint16_t *number) {
  uint32_t value = 0;
  uint8_t digits = 0;
  for (; **at >= '0' && **at <= '9'; ++*at) {
    if (++digits > 5) return false;
    value = 10 * value + (uint32_t)(**at - '0');
  }
  *number = (uint16_t)value;
  return digits > 0 && value <= 65535u;
}

static inline bool ssc32_channel_number(const char **at, uint16_t *number) {
  return ssc32_number(at, number) && *number < SSC32_CHANNELS;
}

/* ---- executing ---- */

static inline void ssc32_go(struct ssc32 *s, uint16_t channel, uint16_t pulse, uint16_t speed, uint16_t time,
                            uint32_t now) {
  struct ssc32_channel *c = &s->channels[channel];
  uint16_t begin = ssc32_pulse(s, (uint8_t)channel, now);
  uint32_t duration = time;
  if (pulse && pulse < SSC32_LOW) pulse = SSC32_LOW;
  if (pulse > SSC32_HIGH) pulse = SSC32_HIGH;
  if (speed) {
    uint32_t distance = (uint32_t)(pulse > begin ? pulse - begin : begin - pulse);
    uint32_t needed = (distance * 1000u + speed - 1u) / speed; /* [ms], rounded up */
    if (needed > duration) duration = needed;
  }
  c->begin = begin;
  c->end = pulse;
  c->start = now;
  c->duration = begin && pulse ? duration : 0;
}

/* #<ch>P<us>[S<us/s>] ... [T<ms>]; with `act` false it is only parsed. */
static inline bool ssc32_move(struct ssc32 *s, const char *at, uint16_t time, bool act, uint16_t *found_time,
                              uint32_t now) {
  uint16_t channel, pulse, speed;
  *found_time = 0;
  do {
    speed = 0;
    if (!ssc32_word(&at, "#") || !ssc32_channel_number(&at, &channel)) return false;
    if (!ssc32_word(&at, "P") || !ssc32_number(&at, &pulse)) return false;
    if (ssc32_word(&at, "S") && !ssc32_number(&at, &speed)) return false;
    if (act) ssc32_go(s, channel, pulse, speed, time, now);
  } while (*at == '#');
  if (ssc32_word(&at, "T") && !ssc32_number(&at, found_time)) return false;
  return *at == '\0';
}

/* #<ch>L ... */
static inline bool ssc32_off(struct ssc32 *s, const char *at, bool act) {
  uint16_t channel;
  do {
    if (!ssc32_word(&at, "#") || !ssc32_channel_number(&at, &channel) || !ssc32_word(&at, "L")) return false;
    if (act) memset(&s->channels[channel], 0, sizeof s->channels[channel]);
  } while (*at);
  return true;
}

/* QP<ch> ...; returns the size of the reply, 0 if the line is not that. */
static inline uint8_t ssc32_query_pulses(struct ssc32 *s, const char *at, uint8_t *reply, uint32_t now) {
  uint16_t channel;
  uint8_t size = 0;
  do {
    if (!ssc32_word(&at, "QP") || !ssc32_channel_number(&at, &channel) || size >= SSC32_REPLY) return 0;
    reply[size++] = (uint8_t)(ssc32_pulse(s, (uint8_t)channel, now) / 10);
  } while (*at);
  return size;
}

/* VA .. VH */
static inline uint8_t ssc32_query_inputs(const struct ssc32 *s, const char *at, uint8_t *reply) {
  uint8_t size = 0;
  do {
    if (!ssc32_word(&at, "V") || *at < 'A' || *at >= 'A' + SSC32_INPUTS || size >= SSC32_REPLY) return 0;
    reply[size++] = s->inputs[*at++ - 'A'];
  } while (*at);
  return size;
}

static inline bool ssc32_stop(struct ssc32 *s, const char *at, uint32_t now) {
  uint16_t channel;
  if (!ssc32_word(&at, "STOP") || !ssc32_channel_number(&at, &channel) || *at) return false;
  s->channels[channel].end = ssc32_pulse(s, (uint8_t)channel, now);
  s->channels[channel].duration = 0;
  return true;
}

static inline char ssc32_moving(struct ssc32 *s, uint32_t now) {
  for (uint8_t i = 0; i < SSC32_CHANNELS; ++i) {
    (void)ssc32_pulse(s, i, now);
    if (s->channels[i].duration) return '+';
  }
  return '.';
}

/* Executes the line; false if it is wrong. Two passes: nothing moves before the whole line is known to be right. */
static inline bool ssc32_execute(struct ssc32 *s, uint8_t *reply, uint8_t *size, uint32_t now) {
  const char *line = s->line;
  uint16_t time = 0;
  if (ssc32_move(s, line, 0, false, &time, now)) return ssc32_move(s, line, time, true, &time, now);
  if (ssc32_off(s, line, false)) return ssc32_off(s, line, true);
  if (ssc32_stop(s, line, now)) return true;
  if (strcmp(line, "Q") == 0) reply[(*size)++] = (uint8_t)ssc32_moving(s, now);
  if (!*size) *size = ssc32_query_pulses(s, line, reply, now);
  if (!*size) *size = ssc32_query_inputs(s, line, reply);
  return *size > 0;
}

static inline void ssc32_new_line(struct ssc32 *s) {
  s->length = 0;
  s->spoilt = s->spaced = false;
}

static inline bool ssc32_digit(char c) { return c >= '0' && c <= '9'; }

/* Keeps a byte of the line; a space within a number, a control character or too long a line spoil it. */
static inline void ssc32_keep(struct ssc32 *s, char c) {
  if (c == ' ' || c == '\n') {
    s->spaced = true;
    return;
  }
  if (c >= 'a' && c <= 'z') c = (char)(c - 'a' + 'A');
  bool torn = s->spaced && s->length && ssc32_digit(c) && ssc32_digit(s->line[s->length - 1]);
  s->spaced = false;
  if (torn || c < ' ' || c > '~' || s->length >= SSC32_LINE)
    s->spoilt = true;
  else
    s->line[s->length++] = c;
}

/* Takes a byte; returns how many bytes of `reply` (SSC32_REPLY of them) are to be sent back. */
static inline uint8_t ssc32_feed(struct ssc32 *s, uint8_t byte, uint32_t now, uint8_t *reply) {
  uint8_t size = 0;
  ssc32_watch(s, now);
  if (byte == 0x1B) {
    ssc32_new_line(s);
  } else if (byte == '\r') {
    s->line[s->length] = '\0';
    if (!s->spoilt && s->length && ssc32_execute(s, reply, &size, now)) {
      s->last_line = now;
      s->alive = true;
    }
    ssc32_new_line(s);
  } else {
    ssc32_keep(s, (char)byte);
  }
  return size;
}

#endif
