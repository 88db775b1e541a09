import { Injectable } from '@nestjs/common';
import { OneAtATime } from '../../core/concurrency/one-at-a-time';

/** Bytes of long columns up to which a row is read together with others, or while others are. */
export const LARGE_ROW = 16 * 1024;

/**
 * Reads of single large rows, decoding included, one at a time whatever asks for them. Many at once would not fit in
 * memory, and reads of small rows would wait behind them.
 */
@Injectable()
export class LargeReads extends OneAtATime {}
