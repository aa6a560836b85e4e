"""What other nodes say of a robot, checked: anybody may say it, and some of it is latched."""

from __future__ import annotations

from ...checks.errors import InvalidModel
from ...checks.fields import check_number
from ...msg import ActuatorInfo, RobotInfo

LARGEST = 1e15  # that a limit may be; more is none, and is said to be infinite
KINDS = (ActuatorInfo.TENDON, ActuatorInfo.CHAMBER, ActuatorInfo.LEG, ActuatorInfo.SLIDE,
         ActuatorInfo.TURN, ActuatorInfo.GAIT)


def check_robot(info: RobotInfo) -> None:
    """Raise `InvalidModel` unless a robot can be shown and driven as it is described."""
    check_number('length', info.length, above=0.0, most=LARGEST, unit='m')
    check_number('step', info.step, least=0.0, most=LARGEST, unit='s')
    names = [one.name for one in info.actuators]
    if not all(names) or len(set(names)) < len(names):
        raise InvalidModel('actuators', names, 'with a name each, and each another one')
    for k, one in enumerate(info.actuators):
        try:
            _check_actuator(one)
        except InvalidModel as error:
            raise error.within(f'actuators[{k}]') from None


def _check_actuator(one: ActuatorInfo) -> None:
    if one.kind not in KINDS:
        raise InvalidModel('kind', one.kind, f'one of: {", ".join(map(str, KINDS))}')
    check_number('rest', one.rest, least=-LARGEST, most=LARGEST)
    for field, allowed in (('lower', '-inf'), ('upper', 'inf')):
        limit = getattr(one, field)
        if limit != float(allowed) and not abs(limit) <= LARGEST:
            raise InvalidModel(field, limit, f'{allowed}, or of a size up to {LARGEST:g}')
    if not one.lower <= one.upper:
        raise InvalidModel('lower', one.lower, f'at most the upper limit, {one.upper:g}')
    if not one.rate > 0.0:
        raise InvalidModel('rate', one.rate, '> 0')
