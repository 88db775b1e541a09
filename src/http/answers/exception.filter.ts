import { type ArgumentsHost, Catch, type ExceptionFilter, Logger } from '@nestjs/common';
import { DatabaseFault } from '../../database/database-fault';
import { CallerRefusal } from '../../errors/caller-refusal';
import { closeInsteadOfReading, hasUnreadBody } from '../body/unread-body';
import { RefusalRecord } from '../request/refusal-record';
import type { Exchange } from '../request/service-request';
import { errorBody, errorStatus, INTERNAL_ERROR, knownError } from './error-answer';

/** Turns everything that is thrown into an answer of the common error shape. */
@Catch()
export class AllExceptionsFilter implements ExceptionFilter {
  private readonly logger = new Logger(AllExceptionsFilter.name);

  constructor(private readonly refusals: RefusalRecord) {}

  /** If a caller is refused because of its identity, that is recorded first. */
  catch(thrown: unknown, host: ArgumentsHost): void {
    const [request] = host.getArgs<Exchange>();
    const reported = thrown instanceof CallerRefusal ? this.refusals.note(request, thrown) : thrown;
    if (reported instanceof Promise) void reported.then((error: unknown) => this.answer(error, host));
    else this.answer(reported, host);
  }

  private answer(thrown: unknown, host: ArgumentsHost): void {
    const [request, response] = host.getArgs<Exchange>();
    const error = knownError(thrown) ?? INTERNAL_ERROR;
    if (error === INTERNAL_ERROR) {
      this.logger.error({ msg: 'Unforeseen error', err: thrown });
    } else if (thrown instanceof DatabaseFault) {
      this.logger.error({ msg: 'The database cannot be read', err: thrown });
    }
    if (response.headersSent) {
      response.destroy();
      return;
    }
    if (hasUnreadBody(request)) {
      closeInsteadOfReading(request, response);
    }
    response
      .status(errorStatus(error))
      .set(error.extras.headers ?? {})
      .json(errorBody(error, request.id));
  }
}
