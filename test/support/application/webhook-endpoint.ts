import { createHmac } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Parsed } from './send';

/** A delivery as an endpoint received it. */
export interface Delivery {
  readonly id: string;
  readonly timestamp: string;
  readonly signature: string;
  readonly text: string;
  readonly body: Parsed;
}

/** Determines how an endpoint answers its deliveries; `index` counts them from 0. */
export type DeliveryHandler = (response: ServerResponse, received: Delivery, index: number) => void;

/** A server that receives the deliveries of webhooks. */
export class WebhookEndpoint {
  readonly received: Delivery[] = [];
  /** Sequences of the delivered entries, in the order of arrival. */
  readonly sequences: number[] = [];
  answering: DeliveryHandler = (response) => response.writeHead(204).end();
  private wake: (() => void)[] = [];

  private constructor(
    private readonly server: Server,
    private readonly keepsAll: boolean,
  ) {
    server.on('request', (request: IncomingMessage, response: ServerResponse) => void this.take(request, response));
  }

  /** With `keepsAll` false it keeps only the sequences: a million deliveries would not fit into memory. */
  static async start(answering?: DeliveryHandler, { keepsAll = true } = {}): Promise<WebhookEndpoint> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const endpoint = new WebhookEndpoint(server, keepsAll);
    if (answering !== undefined) endpoint.answering = answering;
    return endpoint;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/hook`;
  }

  /** Resolves when this many deliveries have arrived. */
  async until(count: number): Promise<void> {
    while (this.sequences.length < count) await new Promise<void>((resolve) => this.wake.push(resolve));
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const header = (name: string): string => String(request.headers[name]);
    const received = {
      id: header('webhook-id'),
      timestamp: header('webhook-timestamp'),
      signature: header('webhook-signature'),
      ...{ text, body: JSON.parse(text) },
    };
    if (this.keepsAll) this.received.push(received);
    // Messages for people have no sequence.
    this.sequences.push((received.body.data?.sequence as number | undefined) ?? 0);
    this.answering(response, received, this.sequences.length - 1);
    this.wake.splice(0).forEach((wake) => wake());
  }
}

/** The signature of a delivery according to Standard Webhooks, computed independently. */
export function signatureBy(secret: string, { id, timestamp, text }: Delivery): string {
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
  return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${text}`).digest('base64')}`;
}
