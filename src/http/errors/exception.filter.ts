import { type ArgumentsHost, Catch, type ExceptionFilter, Logger } from '@nestjs/common';
import { DatabaseFault } from '../../database/database-fault';
import { closeInsteadOfReading, hasUnreadBody } from '../body/unread-body';
import { exchangeOf } from '../service-request';
import { errorBody, errorStatus, INTERNAL_ERROR, knownError } from './error-answer';

/** Turns everything that is thrown into an answer of the one error shape. */
@Catch()
export class AllExceptionsFilter implements ExceptionFilter {
  private readonly logger = new Logger(AllExceptionsFilter.name);

  catch(thrown: unknown, host: ArgumentsHost): void {
    const [request, response] = exchangeOf(host);
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
