import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { freePort } from '../../bench/support/free-port';
import { hasRedisServer } from '../faults/support/redis-server';
import { describeOnSqlite } from '../support/database/database-kind';
import { ROOT } from '../support/documents/markdown';
import { parseYamlFile } from '../support/documents/yaml';
import { run } from '../support/processes/shell';

interface Container {
  readonly image?: string;
  readonly build?: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly command?: readonly string[];
  readonly ports?: readonly string[];
  readonly privileged?: boolean;
  readonly cap_add?: readonly string[];
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly read_only?: boolean;
  readonly mem_limit?: string;
  readonly tmpfs?: readonly string[];
}

interface ComposeFile {
  readonly services: Readonly<Record<string, Container>>;
}

/** A value that must be supplied at the start. */
const DEMANDED = /\$\{\w+:\?[^}]+\}/;
const PINNED = /^[a-z/-]+:\d+\.\d+(\.\d+)?-?[a-z0-9.-]*$/;
/** Variables whose values are, or contain, a secret. */
const SECRET_NAME = /KEY|PASSWORD|SECRET|TOKEN/;
const PASSWORD_IN_ADDRESS = /:\/\/[^/@:]*:(?<password>.*)@/;

/** Seconds that `wait=` may ask for, and seconds that a large body may wait in addition. */
const MAX_WAIT_SECONDS = 60;
const MAX_ROOM_WAIT_SECONDS = 10;

function read(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8');
}

// Independent of the database, so once is enough.
describeOnSqlite('compose.yaml', () => {
  let services: ComposeFile['services'];
  let containers: [string, Container][];

  beforeAll(async () => {
    ({ services } = await parseYamlFile<ComposeFile>('compose.yaml'));
    containers = Object.entries(services);
    expect(containers.map(([name]) => name)).toEqual(['governance', 'balancer', 'postgres', 'redis']);
  });

  it('contains no secrets: they must be supplied at the start', () => {
    const secrets = containers.flatMap(([, { environment = {} }]) =>
      Object.entries(environment).flatMap(([name, value]) => {
        const inAddress = PASSWORD_IN_ADDRESS.exec(value)?.groups?.['password'];
        return SECRET_NAME.test(name) ? [value] : inAddress === undefined ? [] : [inAddress];
      }),
    );
    expect(secrets).toHaveLength(7);
    for (const secret of secrets) expect(secret.replace(DEMANDED, '')).toBe('');
  });

  it('gives Redis a password, and the replicas the same one', () => {
    expect(services['governance']?.environment?.['REDIS_URL']).toContain('redis://:${REDIS_PASSWORD:?');
    expect(services['redis']?.environment?.['REDIS_PASSWORD']).toContain('${REDIS_PASSWORD:?');
    expect(services['redis']?.command?.join('\n')).toContain('requirepass $$REDIS_PASSWORD');
  });

  it('lets no container write to its image, gain rights, or take all memory', () => {
    for (const [name, container] of containers) {
      const { read_only, cap_drop, cap_add, security_opt, privileged, mem_limit } = container;
      expect({ name, read_only, cap_drop, cap_add, security_opt, privileged }).toEqual({
        name,
        read_only: true,
        cap_drop: ['ALL'],
        cap_add: undefined,
        security_opt: ['no-new-privileges:true'],
        privileged: undefined,
      });
      expect([name, mem_limit]).toEqual([name, expect.stringMatching(/^\d+[mg]$/)]);
    }
  });

  it('gives files in memory a size, and leaves most memory to the container', () => {
    for (const [name, { tmpfs = [], mem_limit = '' }] of containers) {
      const sizes = tmpfs.map((folder) => Number(/[:,]size=(?<mebibytes>\d+)m$/.exec(folder)?.groups?.['mebibytes']));
      expect([name, sizes.every((size) => size > 0)]).toEqual([name, true]);
      const mebibytes = parseInt(mem_limit, 10) * (mem_limit.endsWith('g') ? 1_024 : 1);
      const total = sizes.reduce((sum, size) => sum + size, 0);
      expect([name, total < mebibytes / 4]).toEqual([name, true]);
    }
  });

  it('keeps no bodies or answers at the balancer, and lets no address have all its connections', () => {
    const settings = read('deploy/nginx.conf');
    for (const setting of ['proxy_request_buffering off;', 'proxy_buffering off;', 'limit_conn address 100;'])
      expect(settings).toContain(`\n  ${setting}\n`);
  });

  it('lets the service wait as long as it may, and takes no replica out for one slow answer', () => {
    const settings = read('deploy/nginx.conf');
    const patience = /\n {2}proxy_read_timeout (?<seconds>\d+)s;/.exec(settings)?.groups?.['seconds'];
    expect(Number(patience)).toBeGreaterThan(MAX_WAIT_SECONDS + MAX_ROOM_WAIT_SECONDS);
    expect(settings).toMatch(/server governance:3000 [^;]*max_fails=[2-9]/);
  });

  it('publishes the port of the balancer alone', () => {
    expect(containers.filter(([, { ports }]) => ports !== undefined).map(([name]) => name)).toEqual(['balancer']);
    const inside = services['balancer']?.ports?.[0]?.split(':')[1];
    expect(read('deploy/nginx.conf')).toContain(`listen ${inside};`);
  });

  it('uses images of exact versions, and so does the image of the service', () => {
    const images = containers.flatMap(([, { image }]) => (image === undefined ? [] : [image]));
    const bases = [...read('Dockerfile').matchAll(/^FROM (\S+)/gm)].map(([, image = '']) => image);
    expect([images.length, bases.length]).toEqual([3, 2]);
    for (const image of [...images, ...bases]) expect(image).toMatch(PINNED);
    expect(services['governance']).toMatchObject({ build: '.' });
  });

  const itWithRedis = hasRedisServer ? it : it.skip;

  itWithRedis('starts a Redis that requires the password', async () => {
    const port = await freePort();
    const [shell = '', ...parameters] = services['redis']?.command ?? [];
    const script = parameters.map((text) => text.replaceAll('$$', '$').replace('--save', `--port ${port} --save`));
    const redis = spawn(shell, script, { env: { ...process.env, REDIS_PASSWORD: 'of-this-test' }, stdio: 'ignore' });
    try {
      const ask = async (environment: object): Promise<string> =>
        (await run('redis-cli', ['-p', String(port), 'ping'], { environment: { ...process.env, ...environment } }))
          .output;
      const password = { REDISCLI_AUTH: 'of-this-test' };
      while ((await ask(password)) !== 'PONG\n') expect(redis.exitCode).toBeNull();
      expect(await ask({})).toMatch(/^NOAUTH/);
    } finally {
      redis.kill();
      await once(redis, 'exit');
    }
  });
});

describeOnSqlite('SECURITY.md', () => {
  it('says how to report a fault', () => {
    const [, report = ''] = read('SECURITY.md').split('\n## Reporting a fault\n');
    expect(report).toMatch(
      /^\n?Report it privately to [^#]*private\s+vulnerability\s+reporting[^#]*Please do not open a public issue/,
    );
  });
});
