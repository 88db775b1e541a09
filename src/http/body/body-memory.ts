import { Injectable } from '@nestjs/common';
import type { IncomingMessage } from 'node:http';
import { Configuration } from '../../config/configuration';
import { type DomainError, invalidField, unavailable } from '../../errors/domain-error';

/** Milliseconds that a body waits for room at most. */
const LONGEST_WAIT = 10_000;
/** The share of the room that one client's bodies may hold together. */
const SHARE_OF_A_CLIENT = 4 / 5;

/** The room that a body asks for. */
export interface Wanted {
  readonly client: string;
  /** The bytes it holds already. */
  readonly held: number;
  readonly bytes: number;
}

interface Waiting extends Wanted {
  readonly end: (refusal: DomainError | null) => void;
}

/**
 * Memory that the large bodies of all requests share, and of which no client gets all. A body reserves what has arrived
 * of it. If there is no room, it waits without being read, and is admitted in order of arrival with room for the rest
 * of it. A body that could be larger than the share of a client waits for a place of its own instead, which one body
 * has at a time: others neither wait for it nor find less room.
 */
@Injectable()
export class BodyMemory {
  private readonly whole: BodyAccount;
  private readonly share: number;
  private readonly clients = new Map<string, BodyAccount>();
  private readonly queue = new Set<Waiting>();
  /** Bytes of the body in the place of its own; 0 while it is free. */
  private aloneBytes = 0;

  constructor({ bodyTotalLimit }: Configuration) {
    this.whole = new BodyAccount(bodyTotalLimit);
    this.share = Math.floor(bodyTotalLimit * SHARE_OF_A_CLIENT);
  }

  /** Bytes of the large bodies that are being read or processed. */
  get heldBytes(): number {
    return this.whole.heldBytes + this.aloneBytes;
  }

  /** Large bodies that are waiting, unread. */
  get waiting(): number {
    return this.queue.size;
  }

  /** Whether a body of this size waits for the place of its own. */
  needsOwnPlace(bytes: number): boolean {
    return bytes > this.share;
  }

  /** Whether the room is available now and nobody is waiting for it. */
  isFreeFor({ client, bytes }: Wanted): boolean {
    return this.queue.size === 0 && this.accountOf(client).has(bytes) && this.whole.has(bytes);
  }

  /**
   * Reserves the bytes, which have to be released later; false if they are not available now.
   * @param most bytes that the body may have in the end.
   */
  tryTake({ client, held, bytes }: Wanted, most: number): boolean {
    if (this.needsOwnPlace(held + bytes)) return false;
    const account = this.accountOf(client);
    const accounts = [account, this.whole];
    // One that can wait for the place of its own need never exceed the room: each that comes would, by what has arrived.
    const isFree = this.needsOwnPlace(most)
      ? accounts.every((each) => each.fits(bytes))
      : accounts.every((each) => each.has(bytes));
    if (!isFree) return false;
    this.clients.set(client, account);
    account.take(bytes);
    this.whole.take(bytes);
    return true;
  }

  giveBack(client: string, bytes: number): void {
    const account = this.accountOf(client);
    account.giveBack(bytes);
    this.whole.giveBack(bytes);
    if (account.heldBytes === 0) this.clients.delete(client);
    this.admitWaiting();
  }

  /** The same for bytes of the body in the place of its own. */
  giveBackAlone(bytes: number): void {
    this.aloneBytes -= bytes;
    if (this.aloneBytes === 0) this.admitWaiting();
  }

  /**
   * Resolves when the bytes are reserved; in the place of its own together with those that it holds, which it then gives
   * back. Throws UNAVAILABLE after ten seconds.
   */
  wait(wanted: Wanted, request: IncomingMessage): Promise<void> {
    const { client, held } = wanted;
    const accounts = [this.accountOf(client), this.whole];
    return new Promise((resolve, reject) => {
      const end = (refusal: DomainError | null): void => {
        clearTimeout(timer);
        request.off('error', onCut);
        this.queue.delete(waiting);
        accounts.forEach((account) => account.unqueue(held));
        if (refusal === null) resolve();
        else reject(refusal);
      };
      const refuse = (refusal: DomainError): void => {
        end(refusal);
        this.admitWaiting();
      };
      const waiting = { ...wanted, end };
      const onCut = (): void => refuse(invalidField('body', 'must arrive whole'));
      const onLate = (): void => refuse(unavailable('Too many large bodies are being received.'));
      const timer = setTimeout(onLate, LONGEST_WAIT).unref();
      request.on('error', onCut);
      this.queue.add(waiting);
      accounts.forEach((account) => account.queue(held));
      this.admitWaiting();
    });
  }

  /** Neither a client that has used up its share nor a body that needs a place of its own blocks others. */
  private admitWaiting(): void {
    let isFull = false;
    for (const waiting of this.queue) {
      const { client, held, bytes } = waiting;
      if (this.needsOwnPlace(held + bytes)) {
        if (this.aloneBytes === 0) this.admitAlone(waiting);
      } else if (!isFull && this.accountOf(client).has(bytes)) {
        isFull = !this.tryTake(waiting, held + bytes);
        if (!isFull) waiting.end(null);
      }
    }
  }

  private admitAlone({ held, bytes, end }: Waiting): void {
    this.aloneBytes = held + bytes;
    end(null);
  }

  private accountOf(client: string): BodyAccount {
    return this.clients.get(client) ?? new BodyAccount(this.share);
  }
}

/** How many bytes bodies may hold together, and how many they do. */
class BodyAccount {
  private held = 0;
  private heldInQueue = 0;

  constructor(private readonly size: number) {}

  get heldBytes(): number {
    return this.held;
  }

  /**
   * Whether a body may reserve this many more bytes. If everything is held by bodies that are themselves waiting for
   * more, nothing would ever be released: then one is admitted, whatever its size.
   */
  has(bytes: number): boolean {
    return this.held === this.heldInQueue || this.fits(bytes);
  }

  fits(bytes: number): boolean {
    return this.held + bytes <= this.size;
  }

  take(bytes: number): void {
    this.held += bytes;
  }

  giveBack(bytes: number): void {
    this.held -= bytes;
  }

  /** A body that holds these bytes starts waiting for more. */
  queue(bytes: number): void {
    this.heldInQueue += bytes;
  }

  unqueue(bytes: number): void {
    this.heldInQueue -= bytes;
  }
}
