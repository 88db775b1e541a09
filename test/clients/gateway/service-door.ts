import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  request as forward,
} from 'node:http';
import type { AddressInfo } from 'node:net';

/** The loss of an answer to what the service has done: with the connection, or to a page in its place. */
type LostAnswer = 'answer lost' | 'answer replaced';

/** A failure of the service: it answers with a status or with a JSON text of something else, or breaks the connection. */
export type ServiceFault = number | 'reset' | LostAnswer | { readonly json: string; readonly status?: number };

/** Stands between the gateway and its service. */
export interface ServiceDoor {
  readonly url: string;
  /** Says how a request fails; null lets it through. */
  faultFor: (path: string, headers: IncomingHttpHeaders) => ServiceFault | null;
  /** Resolves when a request may reach the service. */
  turnOf: (path: string) => Promise<void>;
  /** Resolves when an answer may leave the service. */
  answerTurnOf: (path: string) => Promise<void>;
  /** Requests that failed. */
  refused: number;
  close(): Promise<void>;
}

export async function openDoor(service: string): Promise<ServiceDoor> {
  const pass = (request: IncomingMessage, response: ServerResponse): void => {
    const { method, headers, url = '' } = request;
    const fault = door.faultFor(url, headers);
    if (fault !== null) door.refused += 1;
    if (fault !== null && fault !== 'answer lost' && fault !== 'answer replaced') {
      if (fault === 'reset') request.socket.resetAndDestroy();
      else if (typeof fault === 'object')
        response.writeHead(fault.status ?? 200, { 'Content-Type': 'application/json' }).end(fault.json);
      else response.writeHead(fault, { 'Retry-After': '7' }).end();
      return;
    }
    const passed = forward(`${service}${url}`, { method, headers }, (answer) => {
      if (fault === 'answer lost') {
        request.socket.resetAndDestroy();
        return;
      }
      if (fault === 'answer replaced') {
        answer.resume();
        response.writeHead(403, { 'Content-Type': 'text/html' }).end('<html>Sign in first.</html>');
        return;
      }
      // A stream of events is open before its first event.
      void door.answerTurnOf(url).then(() => {
        response.writeHead(answer.statusCode ?? 502, answer.headers).flushHeaders();
        answer.pipe(response);
      });
    });
    passed.on('error', () => response.destroy());
    request.pipe(passed);
  };
  const server: Server = createServer((request, response) => {
    void door.turnOf(request.url ?? '').then(() => pass(request, response));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const door: ServiceDoor = {
    url: `http://127.0.0.1:${port}`,
    faultFor: () => null,
    turnOf: () => Promise.resolve(),
    answerTurnOf: () => Promise.resolve(),
    refused: 0,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return door;
}
