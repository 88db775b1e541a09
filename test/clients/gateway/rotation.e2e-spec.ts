import { readFileSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { until } from '../../faults/support/watch';
import { keepSecret } from '../../support/application/secret-watch';
import { bearer, type GatewayStage, openStage, route, type StartedGateway, startGateway } from './stage';
import { type StandIn, startStandIn } from './stand-in';

const SECRETS = ['first', 'second', 'third', 'fourth'].map((name) => `${name}-secret-of-the-vendor`) as [
  string,
  string,
  string,
  string,
];

/** An event stream, as far as a client has received it. */
interface OpenStream {
  text(): string;
}

describe('A secret that changes while an event stream is open', () => {
  let stage: GatewayStage;
  let upstream: StandIn;
  let gateway: StartedGateway;
  let path: string;
  const tails: ServerResponse[] = [];

  /** Tells every open stream of each request, with the credential that it had. */
  const tell = (text: string): void => tails.forEach((tail) => tail.write(`data: ${text}\n\n`));
  const upstreams = (file: string): Record<string, unknown> => {
    const credentials = [{ header: 'Authorization', value: `Bearer \${file:${file}}` }];
    return { vendor: { url: upstream.url, credentials, routes: [route('GET /:kind/:id', 'read')] } };
  };

  beforeAll(async () => {
    stage = await openStage();
    for (const secret of SECRETS) keepSecret(secret);
    upstream = await startStandIn(({ url, headers }, response) => {
      if (url.startsWith('/tail/')) {
        response.writeHead(200, { 'Content-Type': 'text/event-stream' });
        tails.push(response);
        tell('opened');
      } else {
        tell(`${url} by ${headers.authorization}`);
        response.end(headers.authorization);
      }
    });
    path = join(stage.folder, 'secret');
    writeFileSync(path, SECRETS[0]);
    gateway = await startGateway(stage, upstreams(path));
  });
  afterAll(async () => {
    for (const tail of tails) tail.end();
    expect(await gateway.stop()).toBe(0);
    await upstream.close();
    await stage.close();
  });

  async function openStream(id: string): Promise<OpenStream> {
    const response = await fetch(`${gateway.url}/vendor/tail/${id}`, { headers: bearer(stage.key) });
    let text = '';
    const decoder = new TextDecoder();
    void (async () => {
      for await (const chunk of response.body ?? []) text += decoder.decode(chunk, { stream: true });
    })();
    await until('the stream is open', () => text.includes('opened'));
    return { text: () => text };
  }

  /** Sends requests until one has the secret. Returns its path at the upstream. */
  async function sendWith(secret: string, name: string): Promise<string> {
    let count = 0;
    const isSent = async (): Promise<boolean> => {
      count += 1;
      expect((await gateway.call(`/vendor/${name}/${count}`)).text).toBe('Bearer [credential]');
      return upstream.received.at(-1)?.headers.authorization === `Bearer ${secret}`;
    };
    await until(`a request has the ${name} secret`, isSent);
    return `/${name}/${count}`;
  }

  async function expectHidden(stream: OpenStream, sentPath: string): Promise<void> {
    await until('the stream tells of the request', () => stream.text().includes(`${sentPath} by`));
    await until('the line is whole', () => stream.text().includes(`${sentPath} by Bearer [credential]`));
    for (const secret of SECRETS) expect(stream.text()).not.toContain(secret);
  }

  it('is not shown by the stream, nor are the secrets that it had', async () => {
    const stream = await openStream('1');
    await expectHidden(stream, await sendWith(SECRETS[0], 'first'));
    writeFileSync(path, SECRETS[1]);
    await expectHidden(stream, await sendWith(SECRETS[1], 'second'));
    writeFileSync(path, SECRETS[2]);
    await expectHidden(stream, await sendWith(SECRETS[2], 'third'));
    tell(`again ${SECRETS.slice(0, 3).join()} end`);
    const hidden = 'again [credential],[credential],[credential] end';
    await until('the stream tells of all', () => stream.text().includes(hidden));
  });

  it('is not shown by it where SIGHUP reads the secret from another file, nor the last secret by later streams', async () => {
    const before = await openStream('2');
    const next = join(stage.folder, 'next-secret');
    writeFileSync(next, SECRETS[3]);
    const file = JSON.parse(readFileSync(gateway.file, 'utf8')) as Record<string, unknown>;
    writeFileSync(gateway.file, JSON.stringify({ ...file, upstreams: upstreams(next) }));
    gateway.process.kill('SIGHUP');
    await expectHidden(before, await sendWith(SECRETS[3], 'fourth'));
    const after = await openStream('3');
    tell(`${SECRETS[1]} and ${SECRETS[3]} end`);
    for (const stream of [before, after])
      await until('the stream tells of both', () => stream.text().includes('[credential] and [credential] end'));
  });

  async function readAgain(): Promise<void> {
    const readings = (): number => gateway.printed().split('were read again').length;
    const before = readings();
    gateway.process.kill('SIGHUP');
    await until('the file is read again', () => readings() > before);
  }

  it('is not shown by later streams after further readings of the file: requests of the first one still run', async () => {
    for (let count = 0; count < 2; count += 1) await readAgain();
    const after = await openStream('4');
    tell(`${SECRETS.join()} all`);
    const hidden = '[credential],[credential],[credential],[credential] all';
    await until('the stream tells of all', () => after.text().includes(' all'));
    expect(after.text()).toContain(hidden);
  });

  it('is not shown by later streams after two readings of a file without credentials', async () => {
    const file = JSON.parse(readFileSync(gateway.file, 'utf8')) as Record<string, unknown>;
    const vendor = { url: upstream.url, routes: [route('GET /:kind/:id', 'read')] };
    writeFileSync(gateway.file, JSON.stringify({ ...file, upstreams: { vendor } }));
    for (let count = 0; count < 2; count += 1) await readAgain();
    const after = await openStream('5');
    tell(`${SECRETS.join()} last`);
    await until('the stream tells of all', () => after.text().includes(' last'));
    expect(after.text()).toContain('[credential],[credential],[credential],[credential] last');
  });
});
