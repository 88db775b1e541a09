import { readdirSync, readFileSync, statSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { keepSecret } from '../../support/application/secret-watch';
import { sendRaw } from '../../support/application/send';
import { type GatewayStage, openStage, route, type StartedGateway, startGateway } from './stage';
import { type StandIn, startStandIn } from './stand-in';

/** The credentials of this gateway, with characters that are escaped in URLs and in JSON. */
const HEADER_SECRET = 'sk/header+"credential"-4711';
const QUERY_SECRET = 'query credential & more-4712';
const PASSWORD = 'pass:word-of-the-vendor-4713';
const USER = 'account';
const SECRETS = [HEADER_SECRET, QUERY_SECRET, PASSWORD];

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const everyCharacter = (text: string, spell: (code: number) => string): string =>
  Array.from(text, (character) => spell(character.charCodeAt(0))).join('');

const SPELLINGS: Readonly<Record<string, (secret: string) => string>> = {
  plain: (secret) => secret,
  json: (secret) => JSON.stringify(secret).slice(1, -1),
  percent: encodeURIComponent,
  everyPercent: (secret) => everyCharacter(secret, (code) => `%${code.toString(16).padStart(2, '0')}`),
  unicode: (secret) => everyCharacter(secret, (code) => `\\u${code.toString(16).padStart(4, '0')}`),
  base64,
  unpadded: (secret) => base64(secret).replace(/=+$/, ''),
};

/** All that an upstream can say of the credentials that it got. */
const ECHO = [
  ...SECRETS.flatMap((secret) => Object.values(SPELLINGS).map((spell) => spell(secret))),
  base64(`${USER}:${PASSWORD}`),
];
const URL_ECHO = SECRETS.flatMap((secret) => [secret, base64(secret)].map(encodeURIComponent));

/** Maps first segments of paths to answers in which an upstream shows them. */
const ANSWERS: Readonly<Record<string, (response: ServerResponse) => unknown>> = {
  body: (response) => response.end(ECHO.join('\n')),
  chunks: (response) => {
    const bytes = Buffer.from(ECHO.join('\n'));
    const cut = Math.floor(bytes.length / 2);
    response.write(bytes.subarray(0, cut), () => response.end(bytes.subarray(cut)));
  },
  error: (response) => response.writeHead(500, { 'Content-Type': 'application/json' }).end(JSON.stringify(ECHO)),
  header: (response) => {
    ECHO.forEach((text, index) => response.setHeader(`X-Echo-${index}`, text));
    response.end('ok');
  },
  redirect: (response) => response.writeHead(302, { Location: `/next?key=${URL_ECHO.join('&')}` }).end(),
  away: (response) => response.writeHead(302, { Location: `https://elsewhere.example/${URL_ECHO.join('/')}` }).end(),
  refused: (response) =>
    response.writeHead(401, { 'WWW-Authenticate': `Bearer ${base64(HEADER_SECRET)}` }).end(ECHO.join()),
  status: (response) => {
    response.statusMessage = HEADER_SECRET;
    response.end('ok');
  },
  trailer: (response) => {
    response.writeHead(200, { Trailer: 'X-Echo' });
    response.write('ok');
    response.addTrailers({ 'X-Echo': HEADER_SECRET });
    response.end();
  },
  broken: (response) => {
    response.writeHead(200, { 'Content-Type': 'text/plain' });
    response.write(ECHO.join('\n'), () => response.socket?.resetAndDestroy());
  },
};

function filesIn(folder: string): string[] {
  return readdirSync(folder)
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile())
    .map((path) => readFileSync(path, 'latin1'));
}

describe('The secrets of a gateway', () => {
  let stage: GatewayStage;
  let upstream: StandIn;
  let gateway: StartedGateway;

  beforeAll(async () => {
    stage = await openStage();
    for (const secret of SECRETS) keepSecret(secret);
    upstream = await startStandIn(({ url }, response) => {
      const name = /^\/([^/?]+)/.exec(url)?.[1] ?? '';
      ANSWERS[name]?.(response);
    });
    const credentials = [
      { header: 'X-Vendor', value: 'Key ${env:HEADER_SECRET}' },
      { query: 'vendor_key', value: '${env:QUERY_SECRET}' },
      { basic: { user: USER, password: '${env:PASSWORD}' } },
    ];
    const vendor = { url: upstream.url, credentials, routes: [route('POST,GET /:kind/:id', 'write')] };
    gateway = await startGateway(stage, { vendor }, { environment: { HEADER_SECRET, QUERY_SECRET, PASSWORD } });
  });
  afterAll(async () => {
    await upstream.close();
    await stage.close();
  });

  it('are in no answer, log line, report or journal, wherever the upstream shows them', async () => {
    const { host } = new URL(gateway.url);
    const written: string[] = [];
    for (const kind of Object.keys(ANSWERS)) {
      for (const method of ['GET', 'POST']) {
        const head = [`${method} /vendor/${kind}/${method} HTTP/1.1`, `Host: ${host}`, `X-API-Key: ${stage.key}`];
        const rest = ['Connection: close', 'Content-Length: 0', '', ''];
        // A connection that is reset ends without the rest of its answer.
        const answer = await sendRaw(gateway, [...head, ...rest].join('\r\n')).catch(String);
        expect(answer).not.toBe('');
        written.push(answer);
      }
    }
    expect(upstream.received).toHaveLength(2 * Object.keys(ANSWERS).length);
    for (const { headers, url } of upstream.received) {
      expect(headers['x-vendor']).toBe(`Key ${HEADER_SECRET}`);
      expect(url).toContain(`vendor_key=${encodeURIComponent(QUERY_SECRET)}`);
    }
    for (const { id } of await stage.executions()) written.push(JSON.stringify(await stage.ended(id)));
    expect(await gateway.stop()).toBe(0);
    written.push(gateway.printed(), ...filesIn(gateway.journal));
    expect(written.join('\n')).toContain('[credential]');
    for (const text of written) for (const form of [...ECHO, ...URL_ECHO]) expect(text).not.toContain(form);
  });
});
