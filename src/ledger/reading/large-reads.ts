import { Injectable } from '@nestjs/common';
import { Gate } from '../../core/concurrency/gate';

/**
 * Reads of single rows that may be large, decoding included, one at a time whatever asks for them. Many at once would
 * not fit in memory, and reads of small rows would wait behind them.
 */
@Injectable()
export class LargeReads {
  private readonly gate = new Gate({
    what: 'records being read alone',
    ...{ most: 1, mostEach: 1, mostWaiting: Infinity, longest: Infinity },
  });

  run<Result>(read: () => Promise<Result>): Promise<Result> {
    return this.gate.run('', read);
  }
}
