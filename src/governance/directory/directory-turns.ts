import { Injectable } from '@nestjs/common';
import { Configuration } from '../../core/config/configuration';
import { Gates } from '../../http/gates';
import { SCIM_PATH } from '../../http/responses/scim-response';

/** Whom the requests of all directories count for. */
const ALL = 'directory';

/** Lets one request of a directory be worked on at a time. */
@Injectable()
export class DirectoryTurns {
  /** The address of SCIM, for the locations in answers; a path alone without `PUBLIC_URL`. */
  readonly base: string;

  constructor(
    private readonly gates: Gates,
    { publicUrl }: Configuration,
  ) {
    this.base = `${publicUrl ?? ''}${SCIM_PATH}`;
  }

  /** @throws UNAVAILABLE when too many wait; the reason of the signal */
  run<Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
    return this.gates.get('directory').run(ALL, work, { signal });
  }
}
