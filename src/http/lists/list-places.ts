import { Injectable } from '@nestjs/common';
import type { Response } from 'express';
import { clientLeft, onAnswerOver } from '../answers/answer-over';
import type { ServiceRequest } from '../request/service-request';

/** Pages at a time from their reading to their rendering, which takes many slices: each holds its rows meanwhile. */
const MOST = 2;

/** Lets few requests for lists be worked on at a time; others wait, in the order they came. */
@Injectable()
export class ListPlaces {
  private readonly waiting: (() => void)[] = [];
  private taken = 0;

  /** Resolves when it is the request's turn. Its place is free again once its page is rendered, or its client has left. */
  async enter(request: ServiceRequest, response: Response): Promise<void> {
    onAnswerOver(response, () => request.leaveList?.());
    if (this.taken < MOST) this.taken += 1;
    // Whoever leaves hands the place on.
    else await new Promise<void>((resolve) => this.waiting.push(resolve));
    request.leaveList = () => {
      delete request.leaveList;
      this.handOn();
    };
    if (!response.destroyed && !request.socket.destroyed) return;
    request.leaveList();
    throw clientLeft();
  }

  private handOn(): void {
    const next = this.waiting.shift();
    if (next === undefined) this.taken -= 1;
    else next();
  }
}
