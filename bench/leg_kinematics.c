// SPDX-License-Identifier: Apache-2.0
/* Forward and inverse kinematics of all legs in plain C: the reference for the time of a tick in Python.

   Frames, signs and formulas are those of core/kinematics/leg_kinematics.py, for targets in reach. */

#include <math.h>

struct leg {
    double hip[3];            /* [m] in base_link */
    double cos_yaw, sin_yaw;  /* of the hip frame */
    double coxa, femur, tibia, lateral, vertical;  /* [m] */
    double lower[3], upper[3];                     /* [rad] */
};

/* Ball center [m] in base_link of joint angles [rad]. */
static void forward(const struct leg *leg, const double joints[3], double foot[3])
{
    double cos_coxa = cos(joints[0]), sin_coxa = sin(joints[0]);
    double total = joints[1] + joints[2];
    double radial = leg->coxa + leg->femur * cos(joints[1]) + leg->tibia * cos(total);
    double x = radial * cos_coxa - leg->lateral * sin_coxa;
    double y = radial * sin_coxa + leg->lateral * cos_coxa;
    double z = leg->vertical + leg->femur * sin(joints[1]) + leg->tibia * sin(total);

    foot[0] = leg->hip[0] + leg->cos_yaw * x - leg->sin_yaw * y;
    foot[1] = leg->hip[1] + leg->sin_yaw * x + leg->cos_yaw * y;
    foot[2] = leg->hip[2] + z;
}

/* Joint angles [rad], knee up and inside the limits, of a ball center [m] in base_link. */
static void inverse(const struct leg *leg, const double foot[3], double joints[3])
{
    double dx = foot[0] - leg->hip[0], dy = foot[1] - leg->hip[1];
    double x = leg->cos_yaw * dx + leg->sin_yaw * dy;
    double y = leg->cos_yaw * dy - leg->sin_yaw * dx;
    double distance = hypot(x, y);
    double u = sqrt(distance * distance - leg->lateral * leg->lateral) - leg->coxa;
    double w = foot[2] - leg->hip[2] - leg->vertical;
    double a = leg->femur, b = leg->tibia;
    double cosine = fmax(-1.0, fmin(1.0, (u * u + w * w - a * a - b * b) / (2.0 * a * b)));

    joints[0] = atan2(y, x) - asin(leg->lateral / distance);
    joints[2] = -acos(cosine);
    joints[1] = atan2(w, u) - atan2(b * sin(joints[2]), a + b * cosine);
    if (joints[1] > M_PI)
        joints[1] -= 2.0 * M_PI;
    for (int i = 0; i < 3; i++)
        joints[i] = fmax(leg->lower[i], fmin(leg->upper[i], joints[i]));
}

/* Repeats forward and inverse kinematics of all legs: joints in and out [rad], feet out [m]. */
void kinematics_ticks(const struct leg *legs, int count, int ticks, double (*joints)[3], double (*feet)[3])
{
    for (int tick = 0; tick < ticks; tick++)
        for (int i = 0; i < count; i++) {
            forward(&legs[i], joints[i], feet[i]);
            inverse(&legs[i], feet[i], joints[i]);
        }
}
