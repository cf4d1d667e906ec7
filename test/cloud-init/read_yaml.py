"""Reads YAML texts with PyYAML, as Ansible does: a JSON list of texts in, a JSON list of what they say out."""

import json
import sys

import yaml

json.dump([yaml.safe_load(text) for text in json.load(sys.stdin)], sys.stdout)
