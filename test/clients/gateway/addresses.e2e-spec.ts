import { request as secureRequest } from 'node:https';
import { readFileSync, writeFileSync } from 'node:fs';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { connect } from 'node:tls';
import { until } from '../../faults/support/watch';
import { sendRaw } from '../../support/application/send';
import { hasOpenssl, makeCertificate } from './certificates';
import { bearer, type GatewayStage, openStage, route, type StartedGateway, startGateway } from './stage';
import { type StandIn, startStandIn } from './stand-in';

interface SecureAnswer {
  readonly status: number | undefined;
  readonly location: string | undefined;
}

describe('The addresses of the gateway', () => {
  let stage: GatewayStage;
  let upstream: StandIn;

  beforeAll(async () => {
    stage = await openStage();
    upstream = await startStandIn((_, response) => {
      response.writeHead(201, { Location: `${upstream.url}/made/1` }).end();
    });
  });
  afterAll(async () => {
    await upstream.close();
    await stage.close();
  });

  const upstreams = (): object => ({
    vendor: {
      url: upstream.url,
      hosts: ['vendor.internal', '[2001:DB8:0::2]'],
      routes: [route('POST,GET /:kind/:id', 'write')],
    },
  });

  describe('with publicUrl and names', () => {
    let gateway: StartedGateway;
    let port: string;

    beforeAll(async () => {
      const file = { publicUrl: 'https://gateway.example.com', names: ['gw.internal'] };
      gateway = await startGateway(stage, { ...upstreams() }, { name: 'named', file });
      port = new URL(gateway.url).port;
    });
    afterAll(async () => {
      expect(await gateway.stop()).toBe(0);
    });

    /** Status with the reason or the location of the answer. */
    async function answerTo(host: string, path = '/vendor/a/1'): Promise<(string | undefined)[]> {
      const head = `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nX-API-Key: ${stage.key}\r\nConnection: close\r\n\r\n`;
      const answer = await sendRaw(gateway, head);
      const reason = /"reason":"(\w+)"/.exec(answer)?.[1];
      return [/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1], reason ?? /\r\nLocation: (\S+)/i.exec(answer)?.[1]];
    }

    it.each([
      ['gateway.example.com', 'https://gateway.example.com/vendor/made/1'],
      ['GATEWAY.example.com', 'https://gateway.example.com/vendor/made/1'],
      ['gw.internal:8088', 'http://gw.internal:8088/vendor/made/1'],
      ['gw.internal.', 'http://gw.internal./vendor/made/1'],
    ])('are served: %s', async (host, location) => {
      expect(await answerTo(host)).toEqual(['201', location]);
    });

    it('are those of its socket, too', async () => {
      for (const host of [`127.0.0.1:${port}`, `localhost:${port}`])
        expect(await answerTo(host)).toEqual(['201', `http://${host}/vendor/made/1`]);
    });

    it('are those of its socket where SIGHUP reads another listen, which takes a restart', async () => {
      const file = JSON.parse(readFileSync(gateway.file, 'utf8')) as object;
      writeFileSync(gateway.file, JSON.stringify({ ...file, listen: '[::1]:0' }));
      gateway.process.kill('SIGHUP');
      await until('the file is read again', () => gateway.printed().includes('were read again'));
      expect(await answerTo(`127.0.0.1:${port}`)).toEqual(['201', `http://127.0.0.1:${port}/vendor/made/1`]);
    });

    it.each(['vendor.internal', '[2001:db8::2]', '[2001:DB8:0:0::0002]:8088'])(
      'are the hosts of an upstream, with the path as it is: %s',
      async (host) => {
        expect(await answerTo(host, '/a/1')).toEqual(['201', `https://${host}/made/1`]);
        expect((await answerTo(host, '/vendor/a/1'))[0]).toBe('403');
      },
    );

    it.each([
      ...['other.example', 'example.com', 'gateway.example.com.evil.test', '127.0.0.2', 'xgw.internal', 'vendor'],
      ...['[2001:db8::3]', '[2001:db8::2%25eth0]'],
    ])('are no others: %s is 421', async (host) => {
      const before = upstream.received.length;
      expect(await answerTo(host)).toEqual(['421', 'host_unknown']);
      expect(await answerTo(host, '/-/health')).toEqual(['421', 'host_unknown']);
      expect(upstream.received).toHaveLength(before);
    });
  });

  (hasOpenssl ? describe : describe.skip)('with tls', () => {
    it('are served by TLS alone', async () => {
      const { path, cert } = makeCertificate(stage.folder, 'localhost');
      const file = { tls: { cert: path, key: join(stage.folder, 'localhost.key') } };
      const gateway = await startGateway(stage, { ...upstreams() }, { name: 'secure', file });
      const { port } = new URL(gateway.url);
      expect(gateway.url).toBe(`https://127.0.0.1:${port}`);
      const answer = await new Promise<SecureAnswer>((resolve, reject) => {
        const address = {
          host: '127.0.0.1',
          servername: 'localhost',
          port,
          ca: cert,
          path: '/vendor/a/1',
          agent: false,
        };
        const headers = { Host: `localhost:${port}`, ...bearer(stage.key) };
        secureRequest({ ...address, headers }, (message) => {
          const { statusCode: status, headers: responseHeaders } = message;
          text(message).then(() => resolve({ status, location: responseHeaders.location }), reject);
        })
          .on('error', reject)
          .end();
      });
      expect(answer).toEqual({ status: 201, location: `https://localhost:${port}/vendor/made/1` });
      await expect(fetch(`http://127.0.0.1:${port}/vendor/a/1`)).rejects.toThrow();
      expect(await gateway.stop()).toBe(0);
    });

    /** Fingerprint of the certificate that the gateway shows. */
    async function shownCertificate({ url }: StartedGateway): Promise<string> {
      const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', rejectUnauthorized: false });
      await once(socket, 'secureConnect');
      const { fingerprint256 } = socket.getPeerCertificate();
      socket.destroy();
      return fingerprint256;
    }

    it('are served by the certificate that SIGHUP reads, and by the last one if it cannot be used', async () => {
      const keyPath = join(stage.folder, 'renewed.key');
      const { path, cert: first } = makeCertificate(stage.folder, 'renewed');
      const file = { tls: { cert: path, key: keyPath } };
      const gateway = await startGateway(stage, { ...upstreams() }, { name: 'renewing', file });
      expect(await shownCertificate(gateway)).toBe(new X509Certificate(first).fingerprint256);
      const { cert: second, key } = makeCertificate(stage.folder, 'renewed');
      const fingerprint = new X509Certificate(second).fingerprint256;
      gateway.process.kill('SIGHUP');
      await until('the file was read again', () => gateway.printed().includes('were read again'));
      expect(await shownCertificate(gateway)).toBe(fingerprint);
      const faulty: readonly (readonly [string, string])[] = [
        [first, key],
        ['no certificate', key],
        [second, 'no key'],
        ['', key],
        [second, ''],
      ];
      for (const [index, [cert, otherKey]] of faulty.entries()) {
        writeFileSync(path, cert);
        writeFileSync(keyPath, otherKey);
        gateway.process.kill('SIGHUP');
        const refusals = (): number => gateway.printed().split('certificate and key of tls cannot be used').length - 1;
        await until('the certificate is refused', () => refusals() === index + 1);
        expect(await shownCertificate(gateway)).toBe(fingerprint);
      }
      expect(await gateway.stop()).toBe(0);
    });

    it('take no half-written file of certificate authorities in place of the last one', async () => {
      const { path, cert } = makeCertificate(stage.folder, 'authorities');
      const vendor = { url: upstream.url, ca: path, routes: [route('POST,GET /:kind/:id', 'write')] };
      const gateway = await startGateway(stage, { vendor }, { name: 'authorities' });
      const printedTimes = (part: string): number => gateway.printed().split(part).length - 1;
      for (const [index, text] of ['', 'no certificate', cert.slice(0, 400), cert + cert.slice(0, 400)].entries()) {
        writeFileSync(path, text);
        gateway.process.kill('SIGHUP');
        await until('the file is refused', () => printedTimes('certificate authorities') === index + 1);
      }
      writeFileSync(path, `# Two of them.\n${cert}\n${cert}`);
      gateway.process.kill('SIGHUP');
      await until('the file was read again', () => printedTimes('were read again') === 1);
      expect((await gateway.call('/vendor/a/1')).status).toBe(201);
      expect(await gateway.stop()).toBe(0);
    });
  });
});
