import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../../bench/support/free-port';
import { until } from '../../faults/support/watch';
import { codeBlocks, readDocument } from '../../support/documents/markdown';

/** A gateway in front of an upstream. */
export interface Gateway {
  readonly port: number;
  stop(): Promise<void>;
}

/** Addresses as `host:port`. */
export interface Places {
  readonly governance: string;
  readonly upstream: string;
}

interface Program {
  readonly name: string;
  readonly language: string;
  readonly version: readonly string[];
  /** Its documented file with what the document adds for WebSockets. */
  readonly withWebSockets: (documented: string, parts: readonly string[]) => string;
  /** Changes its file so that it listens on a port of loopback, without TLS. */
  readonly file: (documented: string, port: number, folder: string) => string;
  readonly parameters: (file: string, folder: string) => readonly string[];
}

const NGINX: Program = {
  name: 'nginx',
  language: 'nginx',
  version: ['-v'],
  withWebSockets: (documented, [maps = '', headers = '']) =>
    maps + documented.replace(/^ *proxy_set_header User-Agent .*\n/m, (line) => line + headers),
  file: (documented, port, folder) => {
    const server = documented
      .replace('listen 443 ssl;', `listen 127.0.0.1:${port};`)
      .replace(/^ *ssl_certificate.*\n/gm, '');
    const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      (name) => `${name}_temp_path ${folder}/${name};`,
    );
    return `daemon off; pid ${folder}/nginx.pid; events {} http { access_log off; ${paths.join(' ')} ${server} }`;
  },
  parameters: (file, folder) => ['-p', folder, '-e', join(folder, 'error.log'), '-c', file],
};

const CADDY: Program = {
  name: 'caddy',
  language: 'caddyfile',
  version: ['version'],
  withWebSockets: (documented, [before = '', after = '']) =>
    documented.replace(/^\t*request_header -\*\*\n/m, (line) => before + line + after),
  file: (documented, port) =>
    `{\n\tadmin off\n}\n${documented.replace('api.example.com {', `http://:${port} {\n\tbind 127.0.0.1`)}`,
  parameters: (file) => ['run', '--adapter', 'caddyfile', '--config', file],
};

export const GATEWAYS: readonly Program[] = [NGINX, CADDY];

/** With CI=true it has to be. */
export function isInstalled({ name, version }: Program): boolean {
  return process.env['CI'] === 'true' || spawnSync(name, version).status === 0;
}

/**
 * Starts a gateway with its configuration in docs/forward-auth.md, WebSockets included, in which only addresses are
 * replaced.
 */
export async function startGateway(program: Program, { governance, upstream }: Places): Promise<Gateway> {
  const folder = mkdtempSync(join(tmpdir(), 'governance-gateway-'));
  const port = await freePort();
  const blocks = codeBlocks(readDocument('docs/forward-auth.md'));
  const [usual = '', ...more] = blocks.flatMap(({ language, code }) => (language === program.language ? code : []));
  const documented = program.withWebSockets(usual, more);
  const configuration = documented.replaceAll('governance:3000', governance).replaceAll('10.0.0.20:8080', upstream);
  const file = join(folder, 'gateway.conf');
  writeFileSync(file, program.file(configuration, port, folder));
  const started = spawn(program.name, program.parameters(file, folder), {
    stdio: 'ignore',
    env: { ...process.env, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
  });
  const ended = once(started, 'exit');
  const endedEarly = ended.then(() => Promise.reject(new Error(`${program.name} refuses ${file}.`)));
  endedEarly.catch(() => undefined);
  await Promise.race([until(`${program.name} listens`, () => isListening(port)), endedEarly]);
  return {
    port,
    stop: async () => {
      started.kill('SIGTERM');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function isListening(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  return new Promise<boolean>((resolve) => {
    socket.on('connect', () => resolve(true)).on('error', () => resolve(false));
  }).finally(() => socket.destroy());
}
