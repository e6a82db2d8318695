// Types of what the page exchanges with the robot and draws, for tsc only.

interface LegShape {
  name: string;
  hip: number[];
  yaw: number;
  coxa: number;
  femur: number;
  tibia: number;
  lateral: number;
  vertical: number;
  foothold: number[];
}

interface Shape {
  foot_radius: number;
  height: number;
  name: string;
  size: number[];
  center: number[];
  legs: LegShape[];
}

interface RobotState {
  joints: number[];
  odom: number[] | null;
  truth: number[] | null;
  body: number[];
  mass: number[];
  planted: number[];
  margin: number | null;
  commanded: number[] | null;
  forces?: number[] | null;
  achieved?: number[] | null;
}

// What is drawn of a state, in base_footprint.
interface DrawnPose {
  legs: number[][][];
  mounts: number[][];
  box: number[][];
  mass: number[];
  planted: number[];
  odom: number[];
  margin: number | null;
  commanded: number[];
}

// One of the 2D views: a canvas, and the projection of points to it.
interface View {
  c: CanvasRenderingContext2D;
  at: (point: number[]) => [number, number];
  name: string;
  width: number;
  height: number;
  scale: number;
}

// The messages `status` and `now` as web/protocol.py and web/robot_condition.py send them.
interface Robot {
  status: any;
  state: string | null;
  now: any;
  shape: Shape | null;
  gait?: string;
  said?: string;
}
