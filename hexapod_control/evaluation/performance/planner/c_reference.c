/* One whole tick of the walking core in C: the floor against which `hexapod bench` holds the Python one.
 *
 * The same work as core.planner.Planner.step on a robot that walks, then core.kinematics.inverse and joint_velocities
 * of the result: copy of the state for the retry, cached limit, ramp, guard of planted feet, schedule, swing with
 * aim, body pose, rolling of the ball, speed guard, centre of mass, support polygon, loads, gap between the legs. The
 * body pose rests and no change of gait is under way; a tick that cannot be followed even at a smaller share ends the
 * walk.
 * SI, radians; frames, signs, names and constants are those of the Python files, the test compares the rows.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEGS 16 /* at most; evaluation/performance/planner/c_reference.py has the same numbers */
#define HEIGHTS 32
#define PI 3.14159265358979323846
#define GRAVITY 9.81

enum { TRIES = 5 };
static const double LANDING = 0.97, GUARD = 0.985, SLACK = 0.01, BRAKE = 1.5, AT_HOME = 0.001, LANDED = 1.0 - 1e-9;
static const double AIM_FROZEN = 0.8, SHORTEST = 0.1, STRAY = 0.005, SWING_RATE = 0.5, ON_AXIS = 1e-9;

typedef struct {
    double hip[3], yaw, cos_yaw, sin_yaw;
    double coxa, femur, tibia, lateral, vertical;
    double lower[3], upper[3], top[3], moments[6];
} Leg;

typedef struct {
    Leg leg[LEGS];
    double foot_radius, height, lift_height, preload, body_mass, center_of_mass[3], mass;
    double heights[HEIGHTS], footholds[HEIGHTS][LEGS][2], radii[HEIGHTS][LEGS];
    double cycle, lift_off[LEGS];
    double ahead[LEGS][2], behind[LEGS][2], thickness[LEGS], radii_of_bars[LEGS][2], enough;
    int legs, rows, ring[LEGS];
} Robot;

typedef struct {
    double x, y, z, progress, aim[2], stance, velocity[3];
    int swinging;
} Foot;

typedef struct {
    Foot feet[LEGS];
    double until[LEGS], phase;
    double command[3], limited[3], limit[3], limit_swing_time, up[3], down[3];
    double twist[3], swing_time, room;
    double pose[6], pose_speed[6], pose_goal[6];
    int running, resting;
} Walk;

typedef struct {
    Walk walk;
    double row[LEGS][3], centres[LEGS][3];
} Planner;

typedef struct {
    double feet[LEGS][3], feet_velocity[LEGS][3], support[LEGS], joint_velocity[LEGS][3], row[LEGS][3];
    double contacts[LEGS][2], twist[3], pose[6], margin, gap;
    int planted[LEGS];
} Plan;

typedef struct {
    double footholds[LEGS][2], radii[LEGS];
} Stance;

typedef struct {
    double rotation[3][3], translation[3];
} Placement;

typedef struct {
    double x, y, yaw, cosine, sine;
} Pose;

typedef struct {
    double joints[LEGS][3], centres[LEGS][3], contacts[LEGS][2];
    int planted[LEGS], unreached;
    Placement placement;
} Frame;

/* --- planar motions: core.se2 ------------------------------------------------------------------------- */

static Pose se2_exp(const double twist[3], double time) {
    double angle = twist[2] * time, s, c, dx = twist[0] * time, dy = twist[1] * time;
    Pose pose;
    pose.cosine = cos(angle);
    pose.sine = sin(angle);
    if (fabs(angle) < 1e-4) {
        s = 1.0 - angle * angle / 6.0;
        c = angle * (0.5 - angle * angle / 24.0);
    } else {
        s = pose.sine / angle;
        c = (1.0 - pose.cosine) / angle;
    }
    pose.x = s * dx - c * dy;
    pose.y = c * dx + s * dy;
    pose.yaw = angle;
    return pose;
}

static void apply(const Pose *pose, double x, double y, double out[2]) {
    out[0] = pose->x + pose->cosine * x - pose->sine * y;
    out[1] = pose->y + pose->sine * x + pose->cosine * y;
}

static int is_zero(const double twist[3]) { return twist[0] == 0.0 && twist[1] == 0.0 && twist[2] == 0.0; }

/* --- one leg: core.kinematics, core.contact -------------------------------------------------------------- */

static void base_to_hip(const Leg *leg, const double point[3], double out[3]) {
    double x = point[0] - leg->hip[0], y = point[1] - leg->hip[1];
    out[0] = leg->cos_yaw * x + leg->sin_yaw * y;
    out[1] = leg->cos_yaw * y - leg->sin_yaw * x;
    out[2] = point[2] - leg->hip[2];
}

/* Returns 0 if the foot, a point in the hip frame, is reached. */
static int leg_inverse(const Leg *leg, const double foot[3], const double previous[3], double joints[3]) {
    double x = foot[0], y = foot[1], d = leg->lateral, a = leg->femur, b = leg->tibia;
    double distance = hypot(x, y), coxa, radial, u, w, bend;
    int reason = 0;
    if (distance < fmax(ON_AXIS, fabs(d))) {
        reason = 1;
        coxa = previous[0];
        radial = 0.0;
    } else {
        radial = sqrt(distance * distance - d * d);
        coxa = atan2(y, x) - asin(d / distance);
        if (fabs(coxa) > PI) coxa = remainder(coxa, 2.0 * PI);
    }
    u = radial - leg->coxa;
    w = foot[2] - leg->vertical;
    bend = (u * u + w * w - a * a - b * b) / (2.0 * a * b);
    if (bend > 1.0) {
        reason = 1;
        bend = 1.0;
    } else if (bend < -1.0) {
        reason = 1;
        bend = -1.0;
    }
    joints[0] = coxa;
    joints[2] = -acos(bend);
    joints[1] = atan2(w, u) - atan2(b * sin(joints[2]), a + b * bend);
    if (joints[1] > PI) joints[1] -= 2.0 * PI;
    for (int k = 0; k < 3; k++)
        if (joints[k] < leg->lower[k] || joints[k] > leg->upper[k]) {
            joints[k] = fmin(fmax(joints[k], leg->lower[k]), leg->upper[k]);
            reason = 1;
        }
    return reason;
}

static void leg_velocity(const Leg *leg, const double joints[3], const double velocity[3], double out[3]) {
    double cos_coxa = cos(joints[0]), sin_coxa = sin(joints[0]);
    double radial_speed = velocity[0] * cos_coxa + velocity[1] * sin_coxa;
    double across_speed = velocity[1] * cos_coxa - velocity[0] * sin_coxa;
    double a = leg->femur, b = leg->tibia, total = joints[1] + joints[2];
    double cos_femur = cos(joints[1]), cos_total = cos(total), sin_tibia = sin(joints[2]);
    double radial = leg->coxa + a * cos_femur + b * cos_total, plane_speed, total_speed;
    out[0] = fabs(radial) > 1e-6 ? across_speed / radial : 0.0;
    out[1] = out[2] = 0.0;
    if (fabs(sin_tibia) < 1e-6) return;
    plane_speed = radial_speed + leg->lateral * out[0];
    out[1] = (plane_speed * cos_total + velocity[2] * sin(total)) / (a * sin_tibia);
    total_speed = -(plane_speed * cos_femur + velocity[2] * sin(joints[1])) / (b * sin_tibia);
    out[2] = total_speed - out[1];
}

static void turn(const Placement *p, double x, double y, double z, double out[3]) {
    for (int i = 0; i < 3; i++) out[i] = p->rotation[i][0] * x + p->rotation[i][1] * y + p->rotation[i][2] * z;
}

static void to_base(const Placement *p, double x, double y, double z, double out[3]) {
    x -= p->translation[0];
    y -= p->translation[1];
    z -= p->translation[2];
    for (int i = 0; i < 3; i++) out[i] = p->rotation[0][i] * x + p->rotation[1][i] * y + p->rotation[2][i] * z;
}

static Placement placement_of(const double pose[6], double height) {
    double cr = cos(pose[3]), sr = sin(pose[3]), cp = cos(pose[4]), sp = sin(pose[4]), cy = cos(pose[5]);
    double sy = sin(pose[5]);
    Placement p = {{{cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr},
                    {sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr},
                    {-sp, cp * sr, cp * cr}},
                   {pose[0], pose[1], height + pose[2]}};
    return p;
}

static void rolling_shift(const Leg *leg, const double joints[3], const Placement *p, double radius, double out[2]) {
    double heading = leg->yaw + joints[0], angle = joints[1] + joints[2], radial = -cos(angle), lean[3], across, arc;
    out[0] = out[1] = 0.0;
    if (radius == 0.0) return;
    turn(p, radial * cos(heading), radial * sin(heading), -sin(angle), lean);
    across = hypot(lean[0], lean[1]);
    if (across < 1e-12) return;
    arc = radius * atan2(across, lean[2]) / across;
    out[0] = arc * lean[0];
    out[1] = arc * lean[1];
}

static int place(const Leg *leg, const double contact[2], double lift, const Placement *p, double radius,
                 const double previous[3], double centre[3], double joints[3]) {
    double shift[2], hip[3], first[3];
    rolling_shift(leg, previous, p, radius, shift);
    if (radius > 0.0) {
        to_base(p, contact[0] + shift[0], contact[1] + shift[1], lift + radius, centre);
        base_to_hip(leg, centre, hip);
        leg_inverse(leg, hip, previous, first);
        rolling_shift(leg, first, p, radius, shift);
    }
    to_base(p, contact[0] + shift[0], contact[1] + shift[1], lift + radius, centre);
    base_to_hip(leg, centre, hip);
    return leg_inverse(leg, hip, previous, joints);
}

/* --- feet: core.walker, core.schedule, core.swing, core.stance -------------------------------------------- */

static void stance_at(const Robot *robot, double height, Stance *stance) {
    int low = 0, last = robot->rows - 1;
    double share = 0.0;
    if (height >= robot->heights[last]) low = last;
    else if (height > robot->heights[0]) {
        while (robot->heights[low + 1] <= height) low++;
        share = (height - robot->heights[low]) / (robot->heights[low + 1] - robot->heights[low]);
    }
    for (int i = 0; i < robot->legs; i++) {
        const double *p = robot->footholds[low][i];
        stance->footholds[i][0] = p[0];
        stance->footholds[i][1] = p[1];
        stance->radii[i] = robot->radii[low][i];
        if (share != 0.0) {
            const double *q = robot->footholds[low + 1][i];
            stance->footholds[i][0] += share * (q[0] - p[0]);
            stance->footholds[i][1] += share * (q[1] - p[1]);
            stance->radii[i] += share * (robot->radii[low + 1][i] - robot->radii[low][i]);
        }
    }
}

static void pulled(double x, double y, const double centre[2], double radius, double out[2]) {
    double dx = x - centre[0], dy = y - centre[1], distance = hypot(dx, dy), factor;
    out[0] = x;
    out[1] = y;
    if (distance <= radius) return;
    factor = radius / distance;
    out[0] = centre[0] + factor * dx;
    out[1] = centre[1] + factor * dy;
}

static double time_inside(double x, double y, const double twist[3], const double centre[2], double radius) {
    double fx = twist[2] * y - twist[0], fy = -twist[2] * x - twist[1], speed = hypot(fx, fy);
    double turn_x, turn_y, px, py, cx, cy, product, cosine, angle;
    if (speed < 1e-12) return INFINITY;
    if (fabs(twist[2]) * radius < 1e-6 * speed) {
        double ex = x - centre[0], ey = y - centre[1], along = (ex * fx + ey * fy) / speed;
        double root = along * along - (ex * ex + ey * ey - radius * radius);
        return root > 0.0 ? fmax(0.0, (sqrt(root) - along) / speed) : 0.0;
    }
    turn_x = -twist[1] / twist[2];
    turn_y = twist[0] / twist[2];
    px = x - turn_x;
    py = y - turn_y;
    cx = centre[0] - turn_x;
    cy = centre[1] - turn_y;
    product = 2.0 * hypot(px, py) * hypot(cx, cy);
    cosine = product > 0.0 ? (px * px + py * py + cx * cx + cy * cy - radius * radius) / product : -1.0;
    if (cosine <= -1.0) return INFINITY;
    if (cosine >= 1.0) return 0.0;
    angle = atan2(cx * py - cy * px, cx * px + cy * py);
    return fmax(0.0, (acos(cosine) + copysign(angle, angle * twist[2])) / fabs(twist[2]));
}

static double allowed(const Robot *robot, const Walk *walk, double dt, const Stance *stance) {
    const double *twist = walk->twist;
    double factor = 1.0;
    for (int i = 0; i < robot->legs; i++) {
        const Foot *foot = &walk->feet[i];
        double radius = walk->room * stance->radii[i], inside, stays, speed, brake;
        if (foot->swinging) continue;
        inside = time_inside(foot->x, foot->y, twist, stance->footholds[i], GUARD * radius);
        stays = walk->running ? walk->until[i] * walk->swing_time : INFINITY;
        speed = hypot(twist[0] - twist[2] * foot->y, twist[1] + twist[2] * foot->x);
        if ((stays - inside) * speed <= SLACK * radius) continue;
        brake = walk->running ? 1.0 - BRAKE * dt / speed : 1.0;
        brake = fmin(fmin(brake, sqrt(2.0 * BRAKE * inside / speed)), inside / dt);
        factor = fmin(factor, fmax(inside / stays, brake));
    }
    return factor;
}

/* Time since its lift-off in `since`, or -1. */
static void schedule_advance(const Robot *robot, Walk *walk, double step, const double flight[], double since[]) {
    for (int i = 0; i < robot->legs; i++) {
        double left = walk->until[i] - step;
        since[i] = -1.0;
        if (left <= 0.0) {
            if (flight[i] == 0.0 || flight[i] + SHORTEST <= walk->until[i]) since[i] = -left;
            left += robot->cycle;
        }
        walk->until[i] = left;
    }
    walk->phase = fmod(walk->phase + step / robot->cycle, 1.0);
}

static double share_of(double u) { return u >= 1.0 ? 1.0 : u * u * u * (10.0 + u * (6.0 * u - 15.0)); }

static void swing(const Robot *robot, Foot *foot, const double ridden[2], double before, double progress, double dt,
                  const Walk *walk, const Pose *back, const double home[2], double radius) {
    double left = (1.0 - progress) * walk->swing_time, landing[2], aim[2], done, gain, dx, dy, height = 0.0;
    Pose moved;
    if (progress < AIM_FROZEN || before == 0.0) {
        moved = se2_exp(walk->twist, 0.5 * foot->stance * walk->swing_time);
        apply(&moved, home[0], home[1], landing);
    } else {
        apply(back, foot->aim[0], foot->aim[1], aim);
        moved = se2_exp(walk->twist, -left);
        apply(&moved, aim[0], aim[1], landing);
    }
    pulled(landing[0], landing[1], home, LANDING * radius, aim);
    moved = se2_exp(walk->twist, left);
    apply(&moved, aim[0], aim[1], foot->aim);
    done = share_of(before);
    gain = (share_of(progress) - done) / (1.0 - done);
    dx = gain * (foot->aim[0] - ridden[0]);
    dy = gain * (foot->aim[1] - ridden[1]);
    if (progress < LANDED) {
        double s = sin(PI * progress);
        height = robot->lift_height * s * s;
    }
    foot->velocity[0] = dx / dt;
    foot->velocity[1] = dy / dt;
    foot->velocity[2] = (height - foot->z) / dt;
    foot->x = ridden[0] + dx;
    foot->y = ridden[1] + dy;
    foot->z = height;
    foot->progress = progress;
    foot->swinging = progress < LANDED;
}

static void walker_step(const Robot *robot, Walk *walk, double dt, const Stance *stance) {
    Pose back = se2_exp(walk->twist, -dt);
    double since[LEGS], flight[LEGS], step = dt / walk->swing_time;
    for (int i = 0; i < robot->legs; i++) {
        since[i] = -1.0;
        flight[i] = walk->feet[i].swinging ? 1.0 - walk->feet[i].progress : 0.0;
    }
    if (walk->running) schedule_advance(robot, walk, step, flight, since);
    for (int i = 0; i < robot->legs; i++) {
        Foot *foot = &walk->feet[i];
        const double *home = stance->footholds[i];
        double radius = walk->room * stance->radii[i], ridden[2];
        apply(&back, foot->x, foot->y, ridden);
        if (foot->swinging) {
            swing(robot, foot, ridden, foot->progress, foot->progress + step, dt, walk, &back, home, radius);
        } else if (since[i] >= 0.0 &&
                   !(walk->resting && hypot(ridden[0] - home[0], ridden[1] - home[1]) <= AT_HOME)) {
            double air = 1.0 - since[i], lift_off = walk->until[i];
            if (lift_off < air + SHORTEST) lift_off += robot->cycle;
            foot->stance = lift_off - air;
            swing(robot, foot, ridden, 0.0, since[i], dt, walk, &back, home, radius);
        } else {
            foot->x = ridden[0];
            foot->y = ridden[1];
        }
    }
}

/* --- the motion: core.walk --------------------------------------------------------------------------------- */

static void ramp(Walk *walk, const double goal[3], double dt) {
    double factor = 1.0;
    for (int k = 0; k < 3; k++) {
        double a = walk->twist[k], b = goal[k], change = fabs(b - a);
        double most = (fabs(b) < fabs(a) || a * b < 0.0 ? walk->down[k] : walk->up[k]) * dt;
        if (change > most) factor = fmin(factor, most / change);
    }
    for (int k = 0; k < 3; k++)
        walk->twist[k] = factor == 1.0 ? goal[k] : walk->twist[k] + factor * (goal[k] - walk->twist[k]);
}

static void start_or_stop(const Robot *robot, Walk *walk, double away) {
    int still = is_zero(walk->limit) && is_zero(walk->twist), planted = 1;
    for (int i = 0; i < robot->legs; i++) planted &= !walk->feet[i].swinging;
    if (walk->running) {
        if (still && planted && away <= 2.0 * STRAY / 5.0) walk->running = 0;
    } else if (planted && (!still || away > STRAY)) {
        for (int i = 0; i < robot->legs; i++) {
            double until = fmod(robot->lift_off[i], 1.0);
            walk->until[i] = until * robot->cycle;
        }
        walk->phase = 0.0;
        walk->running = 1;
    }
}

/* Returns 0 if the motion can be followed: the limit is known and the pose at rest. */
static int walk_advance(const Robot *robot, Walk *walk, double dt, const double previous[][3], Frame *frame) {
    static const double ZERO[3] = {0.0, 0.0, 0.0};
    Stance stance;
    const double *goal;
    double away = 0.0, change, factor;
    for (int k = 0; k < 3; k++)
        if (walk->command[k] != walk->limited[k]) return 1;
    for (int k = 0; k < 6; k++)
        if (walk->pose[k] != walk->pose_goal[k] || walk->pose_speed[k] != 0.0) return 1;
    stance_at(robot, robot->height + walk->pose[2], &stance);
    for (int i = 0; i < robot->legs; i++)
        away = fmax(away, hypot(walk->feet[i].x - stance.footholds[i][0], walk->feet[i].y - stance.footholds[i][1]));
    start_or_stop(robot, walk, away);
    goal = walk->running ? walk->limit : ZERO;
    if (memcmp(walk->twist, goal, sizeof walk->twist)) ramp(walk, goal, dt);
    change = walk->limit_swing_time - walk->swing_time;
    walk->swing_time += fmin(fmax(change, -SWING_RATE * dt), SWING_RATE * dt);
    if (!is_zero(walk->twist)) {
        factor = allowed(robot, walk, dt, &stance);
        if (factor < 1.0)
            for (int k = 0; k < 3; k++) walk->twist[k] *= factor;
    }
    walk->resting = is_zero(walk->command) && is_zero(walk->twist);
    walker_step(robot, walk, dt, &stance);
    frame->placement = placement_of(walk->pose, robot->height);
    frame->unreached = 0;
    for (int i = 0; i < robot->legs; i++) {
        const Foot *foot = &walk->feet[i];
        frame->contacts[i][0] = foot->x;
        frame->contacts[i][1] = foot->y;
        frame->planted[i] = !foot->swinging;
        frame->unreached |= place(&robot->leg[i], frame->contacts[i], foot->z - robot->preload, &frame->placement,
                                  robot->foot_radius, previous[i], frame->centres[i], frame->joints[i]);
    }
    return 0;
}

/* --- how near the legs come to each other: core.leg_gap ------------------------------------------------------ */

static double clamp01(double share) { return fmin(fmax(share, 0.0), 1.0); }

static double dot(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static double segments_apart(const double p[3], const double q[3], const double a[3], const double b[3]) {
    double u[3], v[3], w[3], uu, vv, uv, uw, vw, determinant, s, t;
    for (int k = 0; k < 3; k++) {
        u[k] = q[k] - p[k];
        v[k] = b[k] - a[k];
        w[k] = p[k] - a[k];
    }
    uu = dot(u, u);
    vv = dot(v, v);
    uv = dot(u, v);
    uw = dot(u, w);
    vw = dot(v, w);
    determinant = uu * vv - uv * uv;
    s = determinant > 1e-15 * uu * vv ? clamp01((uv * vw - uw * vv) / determinant) : 0.0;
    t = (uv * s + vw) / vv;
    if (t < 0.0) {
        s = clamp01(-uw / uu);
        t = 0.0;
    } else if (t > 1.0) {
        s = clamp01((uv - uw) / uu);
        t = 1.0;
    }
    for (int k = 0; k < 3; k++) w[k] += s * u[k] - t * v[k];
    return sqrt(dot(w, w));
}

/* Foot, knee and femur axis of a leg: between each two of them is a bar. */
static void bars(const Leg *leg, const double joints[3], double ends[3][3]) {
    double c = cos(leg->yaw + joints[0]), s = sin(leg->yaw + joints[0]);
    double r[3], z[3];
    r[2] = leg->coxa;
    z[2] = leg->hip[2] + leg->vertical;
    r[1] = r[2] + leg->femur * cos(joints[1]);
    z[1] = z[2] + leg->femur * sin(joints[1]);
    r[0] = r[1] + leg->tibia * cos(joints[1] + joints[2]);
    z[0] = z[1] + leg->tibia * sin(joints[1] + joints[2]);
    for (int k = 0; k < 3; k++) {
        ends[k][0] = leg->hip[0] - leg->lateral * s + r[k] * c;
        ends[k][1] = leg->hip[1] + leg->lateral * c + r[k] * s;
        ends[k][2] = z[k];
    }
}

static double apart(const double a[3], const double b[3]) {
    double d[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
    return sqrt(dot(d, d));
}

static double between(const Robot *robot, int first, int second, const double joints[][3], double best) {
    double a[3][3], b[3][3];
    bars(&robot->leg[first], joints[first], a);
    bars(&robot->leg[second], joints[second], b);
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            double thick = robot->radii_of_bars[first][i] + robot->radii_of_bars[second][j], d[3], far;
            for (int k = 0; k < 3; k++) d[k] = a[i][k] + a[i + 1][k] - b[j][k] - b[j + 1][k];
            far = 2.0 * (best + thick) + apart(a[i], a[i + 1]) + apart(b[j], b[j + 1]);
            if (dot(d, d) < far * far)
                best = fmin(best, segments_apart(a[i + 1], a[i], b[j + 1], b[j]) - thick);
        }
    return best;
}

/* How far a leg reaches along the axis ahead, and where it begins along the one behind. */
static void extent(const Robot *robot, int number, const double joints[3], double *front, double *back) {
    const Leg *leg = &robot->leg[robot->ring[number]];
    const double *u = robot->ahead[number], *v = robot->behind[number];
    double c = cos(leg->yaw + joints[0]), s = sin(leg->yaw + joints[0]);
    double knee = leg->coxa + leg->femur * cos(joints[1]), foot = knee + leg->tibia * cos(joints[1] + joints[2]);
    double far = fmax(fmax(knee, foot), leg->coxa), near = fmin(fmin(knee, foot), leg->coxa), along;
    double x = leg->hip[0] - leg->lateral * s, y = leg->hip[1] + leg->lateral * c;
    along = u[0] * c + u[1] * s;
    *front = u[0] * x + u[1] * y + along * (along > 0.0 ? far : near);
    along = v[0] * c + v[1] * s;
    *back = v[0] * x + v[1] * y + along * (along > 0.0 ? near : far);
}

static double leg_gap(const Robot *robot, const double joints[][3]) {
    double front[LEGS], back[LEGS], best = robot->enough;
    for (int i = 0; i < robot->legs; i++) extent(robot, i, joints[robot->ring[i]], &front[i], &back[i]);
    for (int i = 0; i < robot->legs; i++) {
        int next = i + 1 < robot->legs ? i + 1 : 0;
        if (back[next] - front[i] - robot->thickness[i] < best)
            best = between(robot, robot->ring[i], robot->ring[next], joints, best);
    }
    return best;
}

/* --- what there is to say about it: core.stability, core.planner -------------------------------------------- */

static void center_of_mass(const Robot *robot, const double joints[][3], double out[3]) {
    double mass = robot->body_mass;
    for (int k = 0; k < 3; k++) out[k] = mass * robot->center_of_mass[k];
    for (int i = 0; i < robot->legs; i++) {
        const Leg *leg = &robot->leg[i];
        const double *m = leg->moments; /* mass; along, across, up; of the femur, of the tibia */
        double heading = leg->yaw + joints[i][0], femur = joints[i][1], angle = femur + joints[i][2];
        double c = cos(heading), s = sin(heading), r = m[1] + m[4] * cos(femur) + m[5] * cos(angle);
        out[0] += m[0] * leg->hip[0] + r * c - m[2] * s;
        out[1] += m[0] * leg->hip[1] + r * s + m[2] * c;
        out[2] += m[0] * leg->hip[2] + m[3] + m[4] * sin(femur) + m[5] * sin(angle);
        mass += m[0];
    }
    for (int k = 0; k < 3; k++) out[k] /= mass;
}

static int by_place(const void *p, const void *q) {
    const double *a = p, *b = q;
    if (a[0] != b[0]) return a[0] < b[0] ? -1 : 1;
    return a[1] < b[1] ? -1 : a[1] > b[1];
}

static int chain(double (*corners)[2], double (*points)[2], int first, int end, int step) {
    int count = 0;
    for (int i = first; i != end; i += step) {
        double x = points[i][0], y = points[i][1];
        while (count > 1) {
            double *p = corners[count - 2], *q = corners[count - 1];
            if ((q[0] - p[0]) * (y - p[1]) > (q[1] - p[1]) * (x - p[0])) break;
            count--;
        }
        corners[count][0] = x;
        corners[count][1] = y;
        count++;
    }
    return count - 1;
}

static double margin(double (*points)[2], int count, double cx, double cy) {
    double corners[2 * LEGS + 2][2], best = INFINITY, x0, y0;
    int n;
    qsort(points, (size_t)count, sizeof *points, by_place);
    if (count < 3) return -INFINITY;
    n = chain(corners, points, 0, count, 1);
    n += chain(corners + n, points, count - 1, -1, -1);
    if (n < 3) return -INFINITY;
    x0 = corners[n - 1][0];
    y0 = corners[n - 1][1];
    for (int i = 0; i < n; i++) {
        double dx = corners[i][0] - x0, dy = corners[i][1] - y0;
        best = fmin(best, (dx * (cy - y0) - dy * (cx - x0)) / hypot(dx, dy));
        x0 = corners[i][0];
        y0 = corners[i][1];
    }
    return best;
}

static void support(const Robot *robot, const Frame *frame, double cx, double cy, double weight, double out[]) {
    double sx = 0.0, sy = 0.0, sxx = 0.0, sxy = 0.0, syy = 0.0, determinant, a, b, c;
    int count = 0;
    for (int i = 0; i < robot->legs; i++) {
        double x = frame->contacts[i][0] - cx, y = frame->contacts[i][1] - cy;
        out[i] = 0.0;
        if (!frame->planted[i]) continue;
        count++;
        sx += x;
        sy += y;
        sxx += x * x;
        sxy += x * y;
        syy += y * y;
    }
    if (count == 0) return;
    determinant = count * (sxx * syy - sxy * sxy) - sx * (sx * syy - sxy * sy) + sy * (sx * sxy - sxx * sy);
    a = fabs(determinant) < 1e-15 ? weight / count : weight * (sxx * syy - sxy * sxy) / determinant;
    b = fabs(determinant) < 1e-15 ? 0.0 : weight * (sxy * sy - sx * syy) / determinant;
    c = fabs(determinant) < 1e-15 ? 0.0 : weight * (sx * sxy - sxx * sy) / determinant;
    for (int i = 0; i < robot->legs; i++)
        if (frame->planted[i])
            out[i] = fmax(0.0, a + b * (frame->contacts[i][0] - cx) + c * (frame->contacts[i][1] - cy));
}

static double speed_ratio(const Robot *robot, const double before[][3], const double after[][3], double dt) {
    double worst = 0.0;
    for (int i = 0; i < robot->legs; i++)
        for (int k = 0; k < 3; k++)
            worst = fmax(worst, fabs(after[i][k] - before[i][k]) / robot->leg[i].top[k]);
    return worst / dt;
}

static void say(const Robot *robot, const Planner *planner, const Walk *walk, const Frame *frame, double dt,
                double share, Plan *plan) {
    double com[3], x, y, standing[LEGS][2];
    int count = 0;
    center_of_mass(robot, frame->joints, com);
    turn(&frame->placement, com[0], com[1], com[2], com);
    x = com[0] + frame->placement.translation[0];
    y = com[1] + frame->placement.translation[1];
    for (int i = 0; i < robot->legs; i++) {
        for (int k = 0; k < 3; k++) {
            plan->feet[i][k] = frame->centres[i][k];
            plan->feet_velocity[i][k] = (frame->centres[i][k] - planner->centres[i][k]) / dt;
            plan->row[i][k] = frame->joints[i][k];
            plan->joint_velocity[i][k] = (frame->joints[i][k] - planner->row[i][k]) / dt;
        }
        for (int k = 0; k < 2; k++) plan->contacts[i][k] = frame->contacts[i][k];
        plan->planted[i] = frame->planted[i];
        if (frame->planted[i]) memcpy(standing[count++], frame->contacts[i], sizeof standing[0]);
    }
    support(robot, frame, x, y, robot->mass * GRAVITY, plan->support);
    plan->gap = leg_gap(robot, frame->joints);
    plan->margin = count ? margin(standing, count, x, y) : NAN;
    for (int k = 0; k < 3; k++) plan->twist[k] = walk->twist[k] * share;
    memcpy(plan->pose, walk->pose, sizeof plan->pose);
}

static int planner_step(const Robot *robot, Planner *planner, double dt, Plan *plan) {
    double share = 1.0;
    for (int k = 0; k < TRIES; k++) {
        Walk tried = planner->walk;
        Frame frame;
        double excess;
        if (walk_advance(robot, &tried, share * dt, planner->row, &frame)) return 1;
        excess = speed_ratio(robot, planner->row, frame.joints, dt);
        if (frame.unreached) share *= 0.5;
        else if (excess > 1.0) share *= 0.98 / excess;
        else {
            say(robot, planner, &tried, &frame, dt, share, plan);
            planner->walk = tried;
            memcpy(planner->row, frame.joints, sizeof planner->row);
            memcpy(planner->centres, frame.centres, sizeof planner->centres);
            return 0;
        }
    }
    return 1;
}

static int kinematics(const Robot *robot, const Plan *plan, double joints[][3], double speeds[][3]) {
    int reason = 0;
    for (int i = 0; i < robot->legs; i++) {
        const Leg *leg = &robot->leg[i];
        const double *v = plan->feet_velocity[i], c = leg->cos_yaw, s = leg->sin_yaw;
        double hip[3], found[3], velocity[3] = {c * v[0] + s * v[1], c * v[1] - s * v[0], v[2]};
        base_to_hip(leg, plan->feet[i], hip);
        reason |= leg_inverse(leg, hip, joints[i], found);
        leg_velocity(leg, found, velocity, speeds[i]);
        memcpy(joints[i], found, sizeof found);
    }
    return reason;
}

/* --- for evaluation/performance/planner/c_reference.py: each returns how many ticks were walked --------------------------------------------- */

int walk_ticks(const Robot *robot, Planner *planner, double dt, int count, Plan *plan, double joints[][3],
               double speeds[][3]) {
    for (int k = 0; k < count; k++)
        if (planner_step(robot, planner, dt, plan) || kinematics(robot, plan, joints, speeds)) return k;
    return count;
}

int plan_ticks(const Robot *robot, Planner *planner, double dt, int count, Plan *plan) {
    for (int k = 0; k < count; k++)
        if (planner_step(robot, planner, dt, plan)) return k;
    return count;
}
