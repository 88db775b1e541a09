import { Injectable } from '@nestjs/common';
import type { Response } from 'express';
import type { DomainError } from '../../errors/domain-error';
import type { Caller } from '../../ledger/caller';
import { clientLeft } from '../answers/answer-over';
import { onCallerEnd } from '../answers/caller-end';
import { clientAddress, countedClient } from '../request/client-address';
import { onAnswer } from '../request/on-answer';
import type { ServiceRequest } from '../request/service-request';

/** Pages worked on at a time, from reading to rendering, which takes many slices: each holds its rows in memory. */
const MOST = 3;
/** Of these, the most for one client, so that a client that keeps asking for large pages blocks nobody else. */
const MOST_OF_A_CLIENT = 2;

interface Waiting {
  readonly client: string;
  readonly enter: () => void;
}

/** Limits how many list requests are worked on at a time. Others wait; those of one client are served in order of arrival. */
@Injectable()
export class ListPlaces {
  private readonly waiting = new Set<Waiting>();
  /** The client of each taken place. */
  private readonly taken: string[] = [];

  /**
   * Resolves when it is the request's turn. Its place is released once its page is rendered, even if its client has left
   * before: until then its rows are in memory.
   * @throws UNAUTHORIZED or PERMISSION_DENIED when its key or token ends meanwhile, or its agent is suspended.
   */
  async enter(request: ServiceRequest, response: Response): Promise<void> {
    const client = countedClient(clientAddress(request));
    onAnswer(response, () => request.leaveList?.());
    if (this.hasPlaceFor(client)) this.taken.push(client);
    else await this.turnOf(client, request.caller);
    request.leaveList = () => {
      delete request.leaveList;
      this.taken.splice(this.taken.indexOf(client), 1);
      this.admitNext();
    };
    if (!response.destroyed && !request.socket.destroyed) return;
    request.leaveList();
    throw clientLeft();
  }

  /** Whoever leaves lets the next one in. */
  private async turnOf(client: string, caller: Caller | undefined): Promise<void> {
    let stopWatch: (() => void) | undefined;
    try {
      await new Promise<void>((enter, refuse) => {
        const waiting = { client, enter };
        this.waiting.add(waiting);
        const leave = (end: DomainError): void => {
          if (this.waiting.delete(waiting)) refuse(end);
        };
        stopWatch = caller && onCallerEnd(caller, leave);
      });
    } finally {
      stopWatch?.();
    }
  }

  private admitNext(): void {
    for (const waiting of this.waiting) {
      if (!this.hasPlaceFor(waiting.client)) continue;
      this.waiting.delete(waiting);
      this.taken.push(waiting.client);
      waiting.enter();
      return;
    }
  }

  private hasPlaceFor(client: string): boolean {
    return this.taken.length < MOST && this.taken.filter((other) => other === client).length < MOST_OF_A_CLIENT;
  }
}
