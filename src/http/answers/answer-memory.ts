import { Injectable } from '@nestjs/common';
import type { Response } from 'express';
import { Configuration } from '../../config/configuration';
import { type DomainError, unavailable } from '../../errors/domain-error';
import { clientAddress, countedClient } from '../request/client-address';
import type { ServiceRequest } from '../request/service-request';
import { onAnswerOver } from './answer-over';
import { isLonger } from './json-parts';

/**
 * Answers up to this many bytes need no reservation: the number of connections limits them, and large answers cannot
 * crowd them out.
 */
export const SMALL_ANSWER = 16 * 1024;

/** Memory for large answers that wait for their clients to read them. No client gets more than half of it. */
@Injectable()
export class AnswerMemory {
  private readonly size: number;
  private readonly takenBy = new Map<string, number>();
  private taken = 0;

  constructor(configuration: Configuration) {
    this.size = configuration.answerTotalLimit;
  }

  /** Bytes of large answers that clients have not read yet. */
  get heldBytes(): number {
    return this.taken;
  }

  /**
   * To be called before a value is rendered. Throws UNAVAILABLE when it is large and there is no room for it. A text is
   * already rendered: it is the metrics, which report this very state.
   */
  refuseLarge(request: ServiceRequest, answer: unknown): void {
    if (typeof answer === 'string') return;
    if (this.isFullFor(request) && isLonger(answer, SMALL_ANSWER)) throw refusal();
  }

  /** To be called before a write whose answer may be large. Throws UNAVAILABLE when there is no room for it. */
  refuseAny(request: ServiceRequest): void {
    if (this.isFullFor(request)) throw refusal();
  }

  /** Counts the bytes of an answer, which may just have been rendered, until it is delivered. */
  hold(response: Response, bytes = response.writableLength): void {
    if (bytes <= SMALL_ANSWER) return;
    const client = clientOf(response.req as ServiceRequest);
    this.count(client, bytes);
    onAnswerOver(response, () => this.count(client, -bytes));
  }

  private isFullFor(request: ServiceRequest): boolean {
    if (this.taken === 0) return false;
    const ofClient = this.takenBy.get(clientOf(request)) ?? 0;
    return this.taken >= this.size || ofClient >= this.size / 2;
  }

  private count(client: string, bytes: number): void {
    this.taken += bytes;
    const ofClient = (this.takenBy.get(client) ?? 0) + bytes;
    if (ofClient === 0) this.takenBy.delete(client);
    else this.takenBy.set(client, ofClient);
  }
}

function refusal(): DomainError {
  return unavailable('Too many large answers are waiting for their clients to read them.');
}

function clientOf(request: ServiceRequest): string {
  return countedClient(clientAddress(request));
}
