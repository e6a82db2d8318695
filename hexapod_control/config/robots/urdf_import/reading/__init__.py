"""Reading a URDF or xacro file, its tree of links and joints, and its meshes, within bounds."""
