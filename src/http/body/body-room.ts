import { Injectable } from '@nestjs/common';
import type { IncomingMessage } from 'node:http';
import { Configuration } from '../../config/configuration';
import { type DomainError, invalidField, unavailable } from '../../errors/domain-error';

/** Milliseconds. */
const LONGEST_WAIT = 10_000;

/** A body that stays unread until its turn comes. */
interface Waiting {
  readonly bytes: number;
  readonly end: (refusal: DomainError | null) => void;
}

/**
 * Room in memory that the large bodies of all requests share. A body takes its bytes before it is read. Where they are not
 * to be had it waits, unread, and bodies enter in the order they came.
 */
@Injectable()
export class BodyRoom {
  private readonly size: number;
  private readonly queue = new Set<Waiting>();
  private taken = 0;

  constructor(configuration: Configuration) {
    this.size = configuration.bodyTotalLimit;
  }

  /** Bytes of the large bodies that are being read or worked on. */
  get heldBytes(): number {
    return this.taken;
  }

  /** Large bodies that wait unread. */
  get waiting(): number {
    return this.queue.size;
  }

  /** Resolves when the bytes are taken; they have to be given back. Throws UNAVAILABLE when that takes ten seconds. */
  async take(bytes: number, request: IncomingMessage): Promise<void> {
    if (this.queue.size > 0 || !this.has(bytes)) await this.turn(bytes, request);
    else this.taken += bytes;
  }

  giveBack(bytes: number): void {
    this.taken -= bytes;
    this.letIn();
  }

  /** A body that is larger than the whole room gets all of it. */
  private has(bytes: number): boolean {
    return this.taken === 0 || this.taken + bytes <= this.size;
  }

  private turn(bytes: number, request: IncomingMessage): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = (refusal: DomainError | null): void => {
        clearTimeout(timer);
        request.off('error', onCut);
        this.queue.delete(waiting);
        if (refusal === null) {
          this.taken += bytes;
          resolve();
        } else {
          reject(refusal);
          this.letIn();
        }
      };
      const waiting = { bytes, end };
      const onCut = (): void => end(invalidField('body', 'must arrive whole'));
      const onLate = (): void => end(unavailable('Too many large bodies are being received.'));
      const timer = setTimeout(onLate, LONGEST_WAIT).unref();
      request.on('error', onCut);
      this.queue.add(waiting);
    });
  }

  private letIn(): void {
    for (const { bytes, end } of this.queue) {
      if (!this.has(bytes)) return;
      end(null);
    }
  }
}
