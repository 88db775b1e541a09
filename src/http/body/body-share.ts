import type { ServerResponse } from 'node:http';
import type { BodyRoom } from './body-room';

/** What the body of one request takes of the room, until the request is answered. */
export class BodyShare {
  private constructor(
    private readonly room: BodyRoom,
    private bytes: number,
  ) {}

  /** Waits for the room; throws UNAVAILABLE when there is none for too long. */
  static async take(room: BodyRoom, bytes: number, response: ServerResponse): Promise<BodyShare> {
    await room.take(bytes, response.req);
    const share = new BodyShare(room, bytes);
    onAnswer(response, () => share.shrinkTo(0));
    return share;
  }

  /** Gives back what is more than these bytes. */
  shrinkTo(bytes: number): void {
    this.room.giveBack(this.bytes - bytes);
    this.bytes = bytes;
  }
}

/**
 * Calls back when the handler or the exception filter answers, even a client that has left: `close` would come at once
 * then, while its command still waits for the ledger with all it was sent.
 */
function onAnswer(response: ServerResponse, callBack: () => void): void {
  const end = response.end.bind(response) as (...parameters: unknown[]) => ServerResponse;
  Object.assign(response, {
    end: (...parameters: unknown[]) => {
      callBack();
      return end(...parameters);
    },
  });
}
