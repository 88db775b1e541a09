import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { ROOT } from '../../support/documents/markdown';
import { freePort } from '../../../bench/support/free-port';
import { until } from './watch';

export const hasNginx = spawnSync('nginx', ['-v']).status === 0;

/** The nginx of deploy/nginx.conf in front of replicas. */
export interface Balancer {
  readonly url: string;
  readonly process: ChildProcess;
}

/**
 * Starts nginx with the project's configuration, in which only the addresses of the replicas and its own are replaced.
 */
export async function startBalancer(folder: string, replicas: readonly string[]): Promise<Balancer> {
  const port = await freePort();
  const servers = (_: string, parameters: string): string =>
    replicas.map((url) => `server ${new URL(url).host}${parameters};`).join(' ');
  const configuration = readFileSync(join(ROOT, 'deploy', 'nginx.conf'), 'utf8')
    .replace(/^resolver .*$/m, '')
    .replace(/server governance:3000 resolve(.*);/, servers)
    .replace('listen 8080;', `listen 127.0.0.1:${port};`);
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  const file = join(folder, 'nginx.conf');
  writeFileSync(
    file,
    `daemon off; pid ${folder}/nginx.pid; error_log ${folder}/error.log;
     events {} http { access_log off; ${paths.join(' ')} ${configuration} }`,
  );
  const started = spawn('nginx', ['-p', folder, '-e', join(folder, 'error.log'), '-c', file], { stdio: 'ignore' });
  await until('nginx listens', () => isListening(port));
  return { url: `http://127.0.0.1:${port}`, process: started };
}

export async function stopBalancer({ process }: Balancer): Promise<void> {
  process.kill('SIGTERM');
  if (process.exitCode === null && process.signalCode === null) await once(process, 'exit');
}

function isListening(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  return new Promise<boolean>((resolve) => {
    socket.on('connect', () => resolve(true)).on('error', () => resolve(false));
  }).finally(() => socket.destroy());
}
