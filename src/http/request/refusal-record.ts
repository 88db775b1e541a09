import type { CallerRefusal } from '../../errors/caller-refusal';
import type { ServiceRequest } from './service-request';

/** Puts on record whom the service refuses for who it is. */
export abstract class RefusalRecord {
  /**
   * Resolves with what the caller is answered: the refusal itself, once it is on record, or that it could not be put there. At
   * once where it is only counted.
   */
  abstract note(request: ServiceRequest, refusal: CallerRefusal): Error | Promise<Error>;
}
