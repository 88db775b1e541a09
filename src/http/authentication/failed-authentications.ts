import { Injectable, Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import type { ServiceRequest } from '../request/service-request';

/** Milliseconds between two lines. */
const MINUTE = 60_000;

/**
 * Logs failed authentications: the first one at once, and then, while there are more, one line a minute with their
 * number. A line for each would let strangers flood the log.
 */
@Injectable()
export class FailedAuthentications implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger('Authentication');
  private timer: NodeJS.Timeout | undefined;
  private isRepeated = false;
  private sinceStart = 0;
  private sinceLine = 0;
  private latestAddress = '';

  onModuleInit(): void {
    this.timer = setInterval(() => this.reportMore(), MINUTE).unref();
  }

  onApplicationShutdown(): void {
    clearInterval(this.timer);
    this.reportMore();
  }

  note({ id, address }: Pick<ServiceRequest, 'id' | 'address'>): void {
    this.sinceStart += 1;
    this.sinceLine += 1;
    this.latestAddress = address;
    if (this.isRepeated) return;
    this.isRepeated = true;
    this.report({ msg: 'Authentication failed', requestId: id });
  }

  private reportMore(): void {
    this.isRepeated = this.sinceLine > 0;
    if (this.isRepeated) this.report({ msg: 'More authentications failed' });
  }

  private report(line: { readonly msg: string; readonly requestId?: string }): void {
    this.logger.warn({
      ...line,
      ip: this.latestAddress,
      failures: this.sinceLine,
      failuresSinceStart: this.sinceStart,
    });
    this.sinceLine = 0;
  }
}
