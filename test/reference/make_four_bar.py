"""
Make four_bar.npz: a planar four-bar that falls, closed by MuJoCo's `equality/connect`.

    python -m venv /tmp/reference && /tmp/reference/bin/pip install mujoco scipy
    /tmp/reference/bin/python test/reference/make_four_bar.py

Made with mujoco 4.0.0. The mechanism of `planar.four_bar`, from rest. MuJoCo's constraint is a
stiff spring with damping: its time constant is two time steps, the least it allows. Crank's angle
[rad] and gap at the pin that is closed [m], by time, for time steps of 20, 10 and 5 us.
"""

from pathlib import Path

import mujoco
import numpy as np

START, TIMES = 0.8, np.arange(1, 11) * 0.05
STEPS = (2e-5, 1e-5, 5e-6)
XML = """
<mujoco>
  <compiler angle="radian" inertiafromgeom="false"/>
  <option timestep="{dt}" integrator="RK4" gravity="0 0 -9.81" tolerance="1e-14"
          iterations="200" jacobian="dense"/>
  <default><joint axis="0 -1 0" damping="0" armature="0"/></default>
  <worldbody>
    <body name="crank">
      <joint name="A"/>
      <inertial pos="0.1 0 0" mass="1" diaginertia="0.01 0.01 0.01"/>
      <body name="coupler" pos="0.2 0 0">
        <joint name="B"/>
        <inertial pos="0.25 0 0" mass="1" diaginertia="0.01 0.01 0.01"/>
      </body>
    </body>
    <body name="rocker" pos="0.45 0 0">
      <joint name="D"/>
      <inertial pos="0.2 0 0" mass="1" diaginertia="0.01 0.01 0.01"/>
    </body>
  </worldbody>
  <equality>
    <connect body1="coupler" body2="rocker" anchor="0.5 0 0"
             solref="{time} 1" solimp="0.9999 0.9999 0.001 0.5 2"/>
  </equality>
</mujoco>
"""


def angles(crank, a=0.2, b=0.5, c=0.4, d=0.45):
    """Return the coordinates of A, B and D that close the loop, the branch above."""
    f = d - a * np.exp(1j * crank)
    rocker = np.pi + np.angle(f) - np.arccos((abs(f) ** 2 + c ** 2 - b ** 2) / (2 * abs(f) * c))
    coupler = np.angle(f + c * np.exp(1j * rocker))
    return np.array([crank, coupler - crank, rocker])


def pins(data):
    """Return both places of the pin, on coupler and rocker [m]."""
    def point(name, x):
        return data.body(name).xpos + data.body(name).xmat.reshape(3, 3) @ [x, 0.0, 0.0]
    return point('coupler', 0.5), point('rocker', 0.4)


def fall(dt):
    """Return the crank's angle and the gap at all times, (2, n)."""
    model = mujoco.MjModel.from_xml_string(XML.format(dt=dt, time=2.0 * dt))
    data = mujoco.MjData(model)
    # The anchor on the rocker is found by MuJoCo from the first configuration: tell it ours.
    model.eq_data[0, 3:6] = [0.4, 0.0, 0.0]
    data.qpos[:] = angles(START)
    rows = []
    for time in TIMES:
        while data.time < time - 0.5 * dt:
            mujoco.mj_step(model, data)
        mujoco.mj_forward(model, data)
        rows.append([data.qpos[0], np.linalg.norm(np.subtract(*pins(data)))])
    return np.array(rows).T


def main():
    """Write the file."""
    runs = np.array([fall(dt) for dt in STEPS])
    np.savez_compressed(Path(__file__).resolve().parent / 'four_bar.npz', start=START, times=TIMES,
                        steps=STEPS, crank=runs[:, 0], gap=runs[:, 1])
    print('crank', runs[:, 0, -1], 'largest gaps', runs[:, 1].max(axis=1))
    change = np.abs(np.diff(runs[:, 0], axis=0)).max(axis=1)
    print('change of the crank with the time step', change)


if __name__ == '__main__':
    main()
