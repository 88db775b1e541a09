import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createPlainServer } from 'node:net';
import { describeOnSqlite } from '../../support/database/database-kind';
import type { ProgramRun } from '../../support/processes/shell';
import { buildCommandLine, gov } from '../command-line';

const SAY = ' Say where it is: GOVERNANCE_URL, or `gov login --url`.\n';

describeOnSqlite('gov where no service answers', () => {
  beforeAll(() => buildCommandLine());

  function whoami(url: string): Promise<ProgramRun> {
    return gov(['whoami'], { environment: { GOVERNANCE_URL: url, GOVERNANCE_API_KEY: 'any' } });
  }

  it('says that the host is unknown', async () => {
    const url = 'http://no-such-host.invalid:3000';
    const { exitCode, errors } = await whoami(url);
    const expectedStart = `The governance service at ${url} cannot be reached: the host `;
    expect([exitCode, errors]).toEqual([1, expect.stringMatching(/ the host (is unknown|cannot be looked up now)\./)]);
    expect(errors).toMatch(new RegExp(`^${expectedStart.replaceAll('.', '\\.')}`));
    expect(errors).toMatch(/ Say where it is: /);
  });

  it('says at once that the port is one that is never used', async () => {
    const { errors } = await whoami('http://127.0.0.1:1');
    expect(errors).toBe(
      `The governance service at http://127.0.0.1:1 cannot be reached: HTTP clients refuse to use this port.${SAY}`,
    );
  });

  const permit = Array.from({ length: 3 }, () => Buffer.from('{}').toString('base64url')).join('.');
  it.each([
    [['whoami']],
    [['export']],
    [['evidence', 'exe_1']],
    [['tamper']],
    [['seed']],
    [['permit', 'inspect', permit]],
  ])('says at once that what listens there does not speak TLS: %j', async (words) => {
    let connections = 0;
    const server = createServer((_, response) => void response.end('{}')).on('connection', () => (connections += 1));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { exitCode, errors } = await gov(words, {
      environment: { GOVERNANCE_URL: url, GOVERNANCE_API_KEY: 'any' },
    });
    server.closeAllConnections();
    server.close();
    const fault = 'what listens there does not speak TLS, as https:// needs';
    expect(errors).toBe(`The governance service at ${url} cannot be reached: ${fault}.${SAY}`);
    expect([exitCode, connections]).toEqual([1, 1]);
  });

  it('says that what answers lists no keys of permits', async () => {
    const server = createServer((_, response) => void response.end('<html>'));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { exitCode, errors } = await gov(['permit', 'inspect', permit], { environment: { GOVERNANCE_URL: url } });
    server.close();
    expect([exitCode, errors]).toEqual([
      1,
      `${url}/.well-known/jwks.json does not list keys: it is not the address of the service.\n`,
    ]);
  });

  it('says once that it tries again, while connections break', async () => {
    const server = createPlainServer((socket) =>
      socket.once('data', () => socket.destroy()).on('error', () => undefined),
    );
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { exitCode, errors } = await whoami(url);
    server.close();
    const [first, ...others] = errors.split(/(?<=\n)/);
    expect(first).toBe(`The governance service at ${url} does not answer, as the connection broke: trying again.\n`);
    expect([exitCode, others]).toEqual([
      1,
      [`The governance service at ${url} cannot be reached: the connection broke.${SAY}`],
    ]);
  });
});
