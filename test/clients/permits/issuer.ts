import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { Environment } from '../../../src/core/config/variables/variable';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';

/** An application that issues permits, at the address that its permits name, which is known before it starts. */
export interface Issuer {
  readonly app: TestApp;
  readonly publicUrl: string;
  /** The number of requests for its keys. */
  keyRequests: number;
  close(): Promise<void>;
}

export async function startIssuer(environment: Environment): Promise<Issuer> {
  const front = createServer();
  await once(front.listen(0, '127.0.0.1'), 'listening');
  const publicUrl = `http://127.0.0.1:${(front.address() as AddressInfo).port}`;
  const app = await createTestApp({ environment: { ...environment, PUBLIC_URL: publicUrl } });
  const issuer = { app, publicUrl, keyRequests: 0, close: () => closed(front, app) };
  front.on('request', (request, response) => {
    issuer.keyRequests += 1;
    void fetch(`${app.url}${request.url}`).then(async (answer) => {
      response.writeHead(answer.status, { 'Content-Type': 'application/json' }).end(await answer.text());
    });
  });
  return issuer;
}

async function closed(front: Server, app: TestApp): Promise<void> {
  front.closeAllConnections();
  front.close();
  await app.close();
}
