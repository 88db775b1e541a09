// Loaded before `gov mcp` (NODE_OPTIONS): its servers refuse each signal, as processes of another user do.
const { ChildProcess } = require('node:child_process');

ChildProcess.prototype.kill = function kill() {
  this.emit('error', Object.assign(new Error('kill EPERM'), { code: 'EPERM', syscall: 'kill' }));
  return false;
};
