"""Install the library with pip, without ROS; settings are in setup.cfg."""

from setuptools import setup

setup()
