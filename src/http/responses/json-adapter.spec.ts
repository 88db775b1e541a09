import express, { type Request, type Response } from 'express';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { messageClasses } from './json-adapter';

describe('messageClasses', () => {
  let server: Server;

  afterEach(() => server.close());

  it('creates requests and responses that Express uses unchanged, with all of its members', async () => {
    const application = express();
    const seen: object[] = [];
    application.get('/things/:id', (request: Request, response: Response) => {
      seen.push(Object.getPrototypeOf(request) as object, Object.getPrototypeOf(response) as object);
      response.status(202).json({ id: request.params['id'], ip: request.ip, isOurs: request.app === application });
    });
    server = createServer(messageClasses(application), application);
    server.prependListener('request', (request: object, response: object) => {
      seen.push(Object.getPrototypeOf(request) as object, Object.getPrototypeOf(response) as object);
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/things/7`);
    expect(await answer.json()).toEqual({ id: '7', ip: '127.0.0.1', isOurs: true });
    expect(answer.status).toBe(202);
    const [requestBefore, responseBefore, requestInside, responseInside] = seen;
    expect(requestInside).toBe(requestBefore);
    expect(responseInside).toBe(responseBefore);
  });
});
