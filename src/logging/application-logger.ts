import { Injectable } from '@nestjs/common';
import { Logger } from 'nestjs-pino';

/** Nest tells each module and route it sets up; the banner says in a few lines what an operator needs. */
const START_CONTEXTS: readonly unknown[] = ['NestFactory', 'InstanceLoader', 'RoutesResolver', 'RouterExplorer'];
/** Tells why a start failed, which is thrown as well; whoever starts the application tells it once. */
const FAILED_START_CONTEXT = 'ExceptionHandler';

/** Nest's logger, writing through pino: lines written while a request is served carry its id. */
@Injectable()
export class ApplicationLogger extends Logger {
  override log(message: unknown, ...optionalParams: unknown[]): void {
    if (START_CONTEXTS.includes(optionalParams.at(-1))) {
      super.debug(message, ...optionalParams);
    } else {
      super.log(message, ...optionalParams);
    }
  }

  override error(message: unknown, ...optionalParams: unknown[]): void {
    if (optionalParams.at(-1) === FAILED_START_CONTEXT) {
      super.debug(message, ...optionalParams);
    } else {
      super.error(message, ...optionalParams);
    }
  }
}
