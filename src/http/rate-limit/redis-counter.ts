import { Logger } from '@nestjs/common';
import { Redis, ReplyError } from 'ioredis';
import { withTimeout } from '../../core/concurrency/with-timeout';
import { errorMessage } from '../../core/errors/domain-error';
import { ProcessCounter, type RateWindow, type RequestCounter } from './rate-limits';

/** Most milliseconds that a request waits for Redis before it is counted in this process only. */
const ANSWER_TIMEOUT_MS = 250;
/** Milliseconds after a failure before one request tries Redis again. */
const PAUSE_MS = 1_000;
/** Milliseconds. */
const CONNECT_TIMEOUT_MS = 1_000;
const MAX_RETRY_DELAY_MS = 1_000;

const NO_CONNECTION = 'there is no connection';
const NO_ANSWER = new Error(`no answer within ${ANSWER_TIMEOUT_MS} ms`);

/**
 * Counts and sets the expiry in one step, so that every key has an expiry, at most a window ahead, even if the server's
 * clock was set back. Returns hits and milliseconds left.
 */
const COUNT = `
local requests = tonumber(ARGV[2])
local hits = redis.call('INCRBY', KEYS[1], requests)
local left = redis.call('PTTL', KEYS[1])
local window = tonumber(ARGV[1])
if left < 0 or left > window then
  redis.call('SET', KEYS[1], requests, 'PX', window)
  hits = requests
  left = window
end
return {hits, left}`;

/**
 * Counts the requests of all processes that share a Redis. Each process counts its own share as well, and uses that
 * while Redis does not answer: the limit may be too generous for a while, but there is always one, and no request waits
 * long.
 */
export class RedisCounter implements RequestCounter {
  private readonly logger = new Logger('RateLimit');
  private readonly own: ProcessCounter;
  private isShared = true;
  /** Monotonic milliseconds. */
  private pausedUntil = 0;
  /** Reason why there is no connection. */
  private reason = NO_CONNECTION;

  private constructor(
    private readonly redis: Redis,
    private readonly window: number,
  ) {
    this.own = new ProcessCounter(window);
    redis.on('error', (error: Error) => (this.reason = errorMessage(error)));
    redis.on('ready', () => (this.reason = NO_CONNECTION));
  }

  /** Waits briefly for the first connection. An unreachable Redis does not prevent startup. */
  static async open(url: string, window: number): Promise<RedisCounter> {
    const redis = new Redis(url, {
      lazyConnect: true,
      connectTimeout: CONNECT_TIMEOUT_MS,
      // Applies to the commands sent when a connection opens: one without answers is dropped.
      commandTimeout: CONNECT_TIMEOUT_MS,
      // Requests that Redis cannot count now are counted here, not later.
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
      // A replaced server may keep its connections, while its name already leads to the new one.
      reconnectOnError: ({ message }) => message.includes('READONLY'),
      retryStrategy: (attempts) => Math.min(attempts * 50, MAX_RETRY_DELAY_MS),
    });
    const counter = new RedisCounter(redis, window);
    await redis.connect().catch((error: unknown) => counter.failed(error));
    return counter;
  }

  hit(bucket: string, client: string, requests: number): RateWindow | Promise<RateWindow> {
    // A copy: by the time Redis has answered, later requests will have been counted too.
    const own = { ...this.own.hit(bucket, client, requests) };
    const now = performance.now();
    if (now < this.pausedUntil) return own;
    // One request finds out whether Redis is back; the others do not wait for it.
    if (!this.isShared) this.pausedUntil = now + PAUSE_MS;
    return this.hitShared(`${bucket}:${client}`, requests, own);
  }

  close(): void {
    this.redis.disconnect();
  }

  private async hitShared(client: string, requests: number, own: RateWindow): Promise<RateWindow> {
    try {
      const key = `governance:rate:${this.window}:${client}`;
      const answer = this.redis.eval(COUNT, 1, key, this.window, requests) as Promise<[number, number]>;
      const counted = await withTimeout(answer, ANSWER_TIMEOUT_MS, NO_ANSWER);
      if (counted instanceof Error) throw counted;
      const [hits, left] = counted;
      this.succeeded();
      return { hits, resetsAt: Date.now() + left };
    } catch (error) {
      this.failed(error);
      return own;
    }
  }

  private succeeded(): void {
    if (!this.isShared) this.logger.log('Redis answers again: requests are counted over all processes.');
    this.isShared = true;
    this.pausedUntil = 0;
  }

  private failed(error: unknown): void {
    this.pausedUntil = performance.now() + PAUSE_MS;
    // The connection may be dead without any sign of it: reconnect.
    if (error === NO_ANSWER) this.redis.disconnect(true);
    if (!this.isShared) return;
    this.isShared = false;
    // The error of a command on a lost connection does not say why it was lost.
    const reason = error === NO_ANSWER || error instanceof ReplyError ? errorMessage(error) : this.reason;
    this.logger.warn(`Redis does not answer (${reason}): each process counts requests separately until it does.`);
  }
}
