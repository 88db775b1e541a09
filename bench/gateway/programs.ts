import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../support/free-port';
import { processorSeconds, residentBytes } from '../support/process-figures';
import type { Workplace } from '../support/workplace';

const ROOT = join(__dirname, '../../../../..');
const GOV = join(ROOT, 'clients', 'cli');
const START_MS = 30_000;

/** A program of the benchmark that is not the service. */
export interface RunningProgram {
  readonly url: string;
  readonly processorSeconds: number;
  readonly residentBytes: number;
  stop(): Promise<void>;
}

export function startUpstream(workplace: Workplace): Promise<RunningProgram> {
  return start(workplace, 'upstream', (port) => ({
    command: [process.execPath, join(__dirname, 'upstream.js')],
    environment: { PORT: String(port) },
  }));
}

export interface GatewayOptions {
  readonly service: string;
  readonly upstream: string;
  /** Key with the scope `report`. */
  readonly key: string;
}

/** Starts `gov gateway` with a credential, two routes that are recorded and one that is not. */
export async function startGateway(
  workplace: Workplace,
  { service, upstream, key }: GatewayOptions,
): Promise<RunningProgram> {
  execFileSync(process.execPath, ['build.mjs'], { cwd: GOV, stdio: 'inherit' });
  const resource = { type: 'document', id: 'invoices/${path:id}' };
  const routes = [
    { match: 'POST /invoices/:id', action: 'send-invoice', resource },
    { match: 'GET /invoices/:id', action: 'send-invoice', resource, record: false },
    { match: 'GET /large/:id', action: 'send-invoice', resource },
  ];
  return start(workplace, 'gov-gateway', (port) => {
    const file = workplace.path('gateway.json');
    const vendor = { url: upstream, credentials: [{ header: 'Authorization', value: 'Bearer ${env:VENDOR}' }], routes };
    writeFileSync(file, JSON.stringify({ listen: `127.0.0.1:${port}`, service, upstreams: { vendor } }));
    return {
      command: [process.execPath, join(GOV, 'dist', 'cli', 'src', 'main.js'), 'gateway', file],
      environment: { GOVERNANCE_API_KEY: key, VENDOR: 'a-credential-of-the-vendor' },
    };
  });
}

/** True if the machine has nginx. */
export function hasNginx(): boolean {
  try {
    execFileSync('nginx', ['-v'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** Starts nginx, which asks the service by `auth_request` and then passes the request on. */
export function startNginx(
  workplace: Workplace,
  { service, upstream }: Pick<GatewayOptions, 'service' | 'upstream'>,
): Promise<RunningProgram> {
  return start(workplace, 'nginx', (port) => {
    const folder = workplace.path('nginx');
    mkdirSync(folder);
    const file = join(folder, 'nginx.conf');
    writeFileSync(file, nginxFile(folder, port, { service, upstream }));
    return { command: ['nginx', '-p', folder, '-c', file, '-e', join(folder, 'error.log')], environment: {} };
  });
}

function nginxFile(
  folder: string,
  port: number,
  { service, upstream }: Record<'service' | 'upstream', string>,
): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  const [serviceHost, upstreamHost] = [service, upstream].map((url) => new URL(url).host);
  return `
daemon off; master_process off; pid ${folder}/pid; error_log ${folder}/error.log;
events { worker_connections 4096; }
http {
  access_log off; ${temporary.join(' ')}
  upstream service { server ${serviceHost}; keepalive 128; }
  upstream vendor { server ${upstreamHost}; keepalive 128; }
  server {
    listen 127.0.0.1:${port}; keepalive_requests 1000000;
    proxy_http_version 1.1; proxy_set_header Connection "";
    location / { auth_request /ask; proxy_pass http://vendor; proxy_set_header X-API-Key ""; }
    location = /ask {
      internal; proxy_pass http://service/forward-auth; proxy_pass_request_body off; proxy_set_header Content-Length "";
      proxy_set_header X-Original-Method $request_method; proxy_set_header X-Original-URL https://api.example.com$request_uri;
    }
  }
}`;
}

interface Program {
  readonly command: readonly [string, ...string[]];
  readonly environment: Readonly<Record<string, string>>;
}

async function start(
  workplace: Workplace,
  name: string,
  programAt: (port: number) => { readonly command: readonly string[]; readonly environment: Program['environment'] },
): Promise<RunningProgram> {
  const port = await freePort();
  const { command, environment } = programAt(port);
  const [path = '', ...words] = command;
  const log = workplace.openLog(name);
  const child = spawn(path, words, {
    cwd: workplace.path('.'),
    env: { PATH: process.env['PATH'], ...environment },
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  const processId = child.pid;
  if (processId === undefined) throw new Error(`${name} did not start.`);
  const program = {
    url: `http://127.0.0.1:${port}`,
    get processorSeconds() {
      return processorSeconds(processId);
    },
    get residentBytes() {
      return residentBytes(processId);
    },
    stop: () => stop(child),
  };
  workplace.add(program);
  const deadline = performance.now() + START_MS;
  while (!(await isListening(port))) {
    if (child.exitCode !== null || performance.now() > deadline)
      throw new Error(`${name} did not start:\n${readFileSync(workplace.path(`${name}.log`), 'utf8')}`);
    await delay(50);
  }
  return program;
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  await once(child, 'exit');
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const end = (isOpen: boolean): void => {
      socket.destroy();
      resolve(isOpen);
    };
    socket.once('connect', () => end(true));
    socket.once('error', () => end(false));
  });
}
