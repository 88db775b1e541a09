import { Injectable } from '@nestjs/common';
import { Configuration } from '../../core/config/configuration';
import { Gates } from '../../http/gates';
import { SCIM_PATH } from '../../http/responses/scim-response';

/** The client for which the requests of all directories count. */
const ALL = 'directory';

/** Serves one request of a directory at a time. */
@Injectable()
export class DirectoryTurns {
  /** Address of SCIM, for the locations in responses; only a path without `PUBLIC_URL`. */
  readonly base: string;

  constructor(
    private readonly gates: Gates,
    { publicUrl }: Configuration,
  ) {
    this.base = `${publicUrl ?? ''}${SCIM_PATH}`;
  }

  /** @throws UNAVAILABLE if too many requests wait; the reason of the signal */
  run<Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
    return this.gates.get('directory').run(ALL, work, { signal });
  }
}
