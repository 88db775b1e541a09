import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { until } from './watch';

export const hasRedisServer = spawnSync('redis-server', ['--version']).status === 0;

/** Starts a Redis without persistence. */
export async function startRedis(folder: string, port: number): Promise<ChildProcess> {
  const started = spawn('redis-server', ['--port', String(port), '--bind', '127.0.0.1', '--save', ''], {
    cwd: folder,
    stdio: 'ignore',
  });
  const answers = (): boolean => spawnSync('redis-cli', ['-p', String(port), 'ping']).stdout.includes('PONG');
  await until('Redis answers', answers);
  return started;
}
