import { Injectable } from '@nestjs/common';
import type { LookupAddress } from 'node:dns';
import { Agent as HttpAgent, type ClientRequest, type IncomingMessage, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { LookupFunction, Socket } from 'node:net';
import { lookup } from 'node:dns/promises';
import { Gate, ONE_AT_A_TIME } from '../../../core/concurrency/gate';
import { Configuration } from '../../../core/config/configuration';
import { refusedTargetFault, webhookUrlFault, isRefusedAddress } from '../webhook-url';
import { signatures, type SignedContent } from '../signing-secrets';

/** Most milliseconds from the beginning of an attempt to the end of its response. */
const MAX_ATTEMPT_MS = 15_000;
/** Most milliseconds for one of several addresses to accept a connection: an endpoint may be far away. */
const PER_ADDRESS = 4_000;
/** Most bytes of a response that are read. */
const MAX_RESPONSE_BYTES = 64 * 1024;
/** Milliseconds for which an idle connection stays open. */
const KEEP_ALIVE_MS = 30_000;
/** Errors that show that the other end has closed an idle connection. */
const CLOSED: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE']);

/** Content of a delivery, and its destination. */
interface Delivery extends Pick<SignedContent, 'id' | 'body'> {
  readonly url: string;
  readonly secrets: readonly string[];
  readonly connections: Connections;
  /** Checked right before sending; if it returns false, nothing is sent. */
  readonly mayStill: () => boolean;
}

/** The result of an attempt. */
export interface Attempt {
  /** Status of the response; null if none came in time. */
  readonly status: number | null;
  readonly retryAfter: string | null;
  readonly durationMs: number;
}

/** Reusable connections to one endpoint. */
export interface Connections {
  readonly agent: HttpAgent;
  close(): void;
}

/**
 * Sends deliveries, only to public addresses unless private ones are allowed. Each address is checked when a connection
 * is opened.
 */
@Injectable()
export class WebhookSender {
  private readonly names = new NameLookup();

  constructor(private readonly terms: Configuration) {}

  connections(url: string): Connections {
    const closed = new AbortController();
    const options = {
      keepAlive: true,
      maxSockets: 1,
      timeout: KEEP_ALIVE_MS,
      lookup: this.lookupUntil(closed.signal),
      autoSelectFamilyAttemptTimeout: PER_ADDRESS,
    };
    const agent = /^https:/i.test(url) ? new HttpsAgent(options) : new HttpAgent(options);
    const close = (): void => {
      closed.abort();
      agent.destroy();
    };
    return { agent, close };
  }

  /** Makes one attempt; never rejects. */
  async send(delivery: Delivery): Promise<Attempt> {
    const began = performance.now();
    const over = AbortSignal.timeout(MAX_ATTEMPT_MS);
    const first = await this.exchange(delivery, over);
    // The endpoint had closed the idle connection, so it is unknown whether it received anything.
    const answer = first === 'stale' && delivery.mayStill() ? await this.exchange(delivery, over) : first;
    const { status, retryAfter } = answer === 'stale' ? NO_ANSWER : answer;
    return { status, retryAfter, durationMs: Math.round(performance.now() - began) };
  }

  private exchange(delivery: Delivery, over: AbortSignal): Promise<Answer | 'stale'> {
    return new Promise((resolve) => {
      const url = new URL(delivery.url);
      // The URL may have been allowed only when the webhook was created.
      if ((webhookUrlFault(delivery.url) ?? refusedTargetFault(delivery.url, this.terms)) !== undefined) {
        resolve(NO_ANSWER);
        return;
      }
      const request = this.requestTo(url, delivery, over);
      let answer: Answer | null = null;
      request.on('socket', (socket) =>
        onceConnected(socket, () => {
          // Headers and body are written together, after this check.
          if (delivery.mayStill()) request.end(delivery.body);
          else request.destroy();
        }),
      );
      request.on('response', (response) => {
        answer = { status: response.statusCode ?? null, retryAfter: response.headers['retry-after'] ?? null };
        readSome(response);
      });
      request.on('error', ({ code }: NodeJS.ErrnoException) => {
        if (answer === null) resolve(request.reusedSocket && CLOSED.has(String(code)) ? 'stale' : NO_ANSWER);
      });
      request.on('close', () => resolve(answer ?? NO_ANSWER));
    });
  }

  private requestTo(url: URL, { id, body, secrets, connections }: Delivery, signal: AbortSignal): ClientRequest {
    const timestamp = Math.floor(Date.now() / 1000);
    const headers = {
      'Content-Type': 'application/json',
      'Content-Length': body.length,
      'User-Agent': 'agent-governance-service',
      'webhook-id': id,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': signatures(secrets, { id, timestamp, body }),
    };
    const options = { method: 'POST', headers, signal, agent: connections.agent };
    return url.protocol === 'https:' ? httpsRequest(url, options) : httpRequest(url, options);
  }

  private lookupUntil(closed: AbortSignal): LookupFunction {
    return (name, { all = false }, callBack) => {
      this.permittedAddresses(name, closed).then(
        ([first, ...others]) => {
          if (all) callBack(null, [first, ...others]);
          else callBack(null, first.address, first.family);
        },
        (error: unknown) => callBack(error instanceof Error ? error : refusal('EFAULT'), '', 0),
      );
    };
  }

  /**
   * Returns the addresses of a name. Refuses a name if any of its addresses is refused: the name's owner must not
   * influence which one is used.
   */
  private async permittedAddresses(name: string, closed: AbortSignal): Promise<[LookupAddress, ...LookupAddress[]]> {
    const all = await this.names.addressesOf(name, closed);
    const isRefused = ({ address }: LookupAddress): boolean =>
      !this.terms.webhookAllowPrivate && isRefusedAddress(address);
    const [first, ...others] = all.some(isRefused) ? [] : all;
    if (first === undefined) throw refusal('EACCES');
    return [first, ...others];
  }
}

type Answer = Pick<Attempt, 'status' | 'retryAfter'>;

const NO_ANSWER: Answer = { status: null, retryAfter: null };

function onceConnected(socket: Socket, callBack: () => void): void {
  if (!socket.connecting) callBack();
  else socket.once('encrypted' in socket ? 'secureConnect' : 'connect', callBack);
}

/**
 * Reads part of the response. Unread data keeps a connection from being reused, but an endless response must not be
 * read to its end.
 */
function readSome(response: IncomingMessage): void {
  let bytes = 0;
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MAX_RESPONSE_BYTES) response.destroy();
  });
  response.on('error', () => undefined);
}

/** Makes an error without the name, which is part of a URL that must not be logged. */
function refusal(code: string): NodeJS.ErrnoException {
  return Object.assign(new Error('The address is refused.'), { code });
}

/** A look-up, and the signals of the attempts that wait for it. */
interface PendingLookup {
  readonly addresses: Promise<LookupAddress[]>;
  readonly attempts: AbortSignal[];
}

/** Common turn of the names that were not found at the last look-up, or never looked up. */
const NOT_FOUND = '';

/**
 * Looks up the addresses of endpoints in the system, one name at a time. A look-up cannot be cancelled: until the name
 * servers have answered, it occupies one of the two threads that look up names for the whole process. An attempt has a
 * time limit; when it is repeated, it waits for the same look-up. Names whose servers are silent, however many, delay a
 * name that was found before by at most two of their look-ups.
 */
class NameLookup {
  private readonly pending = new Map<string, PendingLookup>();
  private readonly resolvedNames = new Set<string>();
  private readonly gate = new Gate({ label: 'look-ups', ...ONE_AT_A_TIME });

  /**
   * @param over aborted when this attempt no longer needs the addresses; once no attempt does, the look-up is skipped
   */
  addressesOf(name: string, over: AbortSignal): Promise<LookupAddress[]> {
    const { addresses: answer, attempts } = this.pending.get(name) ?? this.start(name);
    attempts.push(over);
    return answer;
  }

  private start(name: string): PendingLookup {
    const attempts: AbortSignal[] = [];
    const lookUp = async (): Promise<LookupAddress[]> => {
      if (attempts.every(({ aborted }) => aborted)) throw refusal('ECANCELED');
      this.resolvedNames.delete(name);
      const addresses = await lookup(name, { all: true });
      this.resolvedNames.add(name);
      return addresses;
    };
    const turn = this.gate.run(this.resolvedNames.has(name) ? name : NOT_FOUND, lookUp);
    const started = { addresses: turn.finally(() => this.pending.delete(name)), attempts };
    this.pending.set(name, started);
    return started;
  }
}
