import type { CallerRefusal } from '../../errors/caller-refusal';
import type { ServiceRequest } from './service-request';

/** Records which callers the service refuses because of their identity. */
export abstract class RefusalRecord {
  /**
   * Resolves with the error to answer: the refusal itself, once it is recorded, or that it could not be recorded.
   * Synchronous if the refusal is only counted.
   */
  abstract note(request: ServiceRequest, refusal: CallerRefusal): Error | Promise<Error>;
}
