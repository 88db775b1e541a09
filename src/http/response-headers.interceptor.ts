import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import type { Response } from 'express';
import { map, type Observable } from 'rxjs';
import { isCurrentCopy, revisionTag } from './conditional/precondition';
import { routeTraits, type RouteTraits } from './route-traits';
import type { ServiceRequest } from './service-request';

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/** Gives a created record its `Location`, and a revisioned one its `ETag`; answers 304 to a client whose copy is current. */
@Injectable()
export class ResponseHeadersInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const traits = routeTraits(context);
    if (!traits.creates && !traits.isRevisioned) {
      return next.handle();
    }
    const request = context.switchToHttp().getRequest<ServiceRequest>();
    const response = context.switchToHttp().getResponse<Response>();
    return next.handle().pipe(map((answer: unknown) => withHeaders(answer, traits, request, response)));
  }
}

function withHeaders(answer: unknown, traits: RouteTraits, request: ServiceRequest, response: Response): unknown {
  if (traits.creates) {
    setLocation(answer, request, response);
  }
  return traits.isRevisioned ? revisioned(answer, request, response) : answer;
}

function setLocation(answer: unknown, request: ServiceRequest, response: Response): void {
  const id = member(answer, 'id');
  if (typeof id === 'string') {
    response.setHeader('Location', `${request.path.replace(/\/+$/, '')}/${id}`);
  }
}

function revisioned(answer: unknown, request: ServiceRequest, response: Response): unknown {
  const revision = member(answer, 'revision');
  if (typeof revision !== 'number') {
    return answer;
  }
  response.setHeader('ETag', revisionTag(revision));
  if (READS.has(request.method) && isCurrentCopy(request.headers['if-none-match'], revision)) {
    response.status(304);
    return undefined;
  }
  return answer;
}

function member(answer: unknown, name: string): unknown {
  return typeof answer === 'object' && answer !== null ? (answer as Record<string, unknown>)[name] : undefined;
}
