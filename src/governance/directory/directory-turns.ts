import { Injectable } from '@nestjs/common';
import { Configuration } from '../../core/config/configuration';
import { Gates } from '../../http/gates';
import { SCIM_PATH } from '../../http/responses/scim-response';

/** Key of the queue that the requests of all directories share. */
const ALL = 'directory';

/** Serves one request of a directory at a time. */
@Injectable()
export class DirectoryTurns {
  /** Address of SCIM for the locations in responses; a path alone if `PUBLIC_URL` is not set. */
  readonly base: string;

  constructor(
    private readonly gates: Gates,
    { publicUrl }: Configuration,
  ) {
    this.base = `${publicUrl ?? ''}${SCIM_PATH}`;
  }

  /**
   * Runs the work once the requests before it have ended.
   * @throws UNAVAILABLE if too many requests wait; the reason of the signal
   */
  run<Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
    return this.gates.get('directory').run(ALL, work, { signal });
  }
}
