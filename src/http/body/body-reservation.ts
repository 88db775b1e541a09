import type { ServerResponse } from 'node:http';
import { onAnswer } from '../request/on-answer';
import type { BodyMemory } from './body-memory';

/**
 * Bodies up to this many bytes need no reservation: the number of connections limits them, and large bodies cannot
 * crowd them out.
 */
export const SMALL_BODY = 16 * 1024;

/** What a body that may be large reserves, until the request is answered. */
export class BodyReservation {
  private bytes = 0;
  /** Whether they are in the place for a body that is larger than the share of a client. */
  private isAlone = false;

  constructor(
    private readonly memory: BodyMemory,
    private readonly client: string,
    private readonly response: ServerResponse,
    /** The body's length, or the largest allowed if that is not known. */
    private readonly most: number,
  ) {}

  /** Before a body of known length is read: waits if there is no room for all of it now; null if there is. */
  begin(): Promise<void> | null {
    return this.memory.isFreeFor(this.rest) ? null : this.takeRest();
  }

  /**
   * Reserves what has arrived, immediately (null) or, after waiting, together with the rest. Throws UNAVAILABLE as
   * `wait` does.
   */
  grow(arrived: number): Promise<void> | null {
    if (arrived <= SMALL_BODY || arrived <= this.bytes) return null;
    const { client, bytes: held } = this;
    if (!this.memory.tryTake({ client, held, bytes: arrived - held }, this.most)) return this.takeRest();
    this.hold(arrived);
    return null;
  }

  /** Releases everything above this many bytes. */
  shrinkTo(bytes: number): void {
    if (bytes >= this.bytes) return;
    if (this.isAlone) this.memory.giveBackAlone(this.bytes - bytes);
    else this.memory.giveBack(this.client, this.bytes - bytes);
    this.bytes = bytes;
  }

  private get rest(): { client: string; held: number; bytes: number } {
    return { client: this.client, held: this.bytes, bytes: this.most - this.bytes };
  }

  private async takeRest(): Promise<void> {
    await this.memory.wait(this.rest, this.response.req);
    if (this.memory.needsOwnPlace(this.most)) this.moveToOwnPlace();
    this.hold(this.most);
  }

  private moveToOwnPlace(): void {
    this.isAlone = true;
    this.memory.giveBack(this.client, this.bytes);
  }

  private hold(bytes: number): void {
    if (this.bytes === 0) onAnswer(this.response, () => this.shrinkTo(0));
    this.bytes = bytes;
  }
}
