#!/usr/bin/env node
import { runCommand } from './program/run-command';

runCommand(process.argv.slice(2), __filename);
