"""What pulls, presses or rubs: functions of strain, path or pose, with their slopes."""
