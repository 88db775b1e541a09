import { All, Controller, type OnModuleInit, Req, Res } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Application, Response } from 'express';
import { Configuration } from '../../core/config/configuration';
import { DomainError, invalid } from '../../core/errors/domain-error';
import { routeNotFound, SetRouteMetadata } from '../request/routes';
import { isPreflight } from '../responses/common-headers';
import type { ServiceRequest } from '../request/service-request';

const EVERY_PATH = '{*path}';

/** Responds if no other route does. It is a route itself, so that the guards see unknown paths and preflights too. */
@ApiExcludeController()
@Controller()
export class FallbackController implements OnModuleInit {
  private routes: readonly RouteLayer[] = [];

  constructor(
    private readonly host: HttpAdapterHost,
    private readonly configuration: Configuration,
  ) {}

  /** Checks that no route follows the fallback, where it would never be reached. All routes are registered by now. */
  onModuleInit(): void {
    const { router } = this.host.httpAdapter.getInstance<Application>();
    const layers = (router as unknown as { readonly stack: readonly RouteLayer[] }).stack;
    const routes = layers.filter((layer) => layer.route !== undefined);
    const last = routes.at(-1);
    if (last?.route?.path !== `/${EVERY_PATH}`) {
      throw new Error('A module was imported after HttpModule, so its routes could not be reached. Import it before.');
    }
    this.routes = routes.slice(0, -1);
  }

  @All(EVERY_PATH)
  @SetRouteMetadata({ readsInput: false, scopes: 'unrouted' })
  answer(@Req() request: ServiceRequest, @Res({ passthrough: true }) response: Response): void {
    if (request.unreadable !== undefined) throw invalid([request.unreadable]);
    if (isPreflight(request, this.configuration)) {
      response.status(204);
      return;
    }
    const allowed = allowedMethods(this.routes, request.path);
    if (allowed.length === 0) throw routeNotFound();
    const allow = allowed.join(', ');
    const message = `This path does not support ${request.method}; it supports ${allow}.`;
    throw new DomainError('METHOD_NOT_ALLOWED', message, { headers: { Allow: allow } });
  }
}

/** The part of an Express router's layer that decides which requests it handles. */
interface RouteLayer {
  readonly route?: { readonly path: unknown; readonly methods: Readonly<Record<string, boolean | undefined>> };
  match(path: string): object | false;
}

/**
 * Returns the methods allowed for a path, including `HEAD` if `GET` is, in alphabetical order; none if the path is
 * unknown.
 */
function allowedMethods(layers: readonly RouteLayer[], path: string): string[] {
  const routes = layers.filter((layer) => layer.match(path) !== false);
  const methods = new Set(routes.flatMap(({ route }) => Object.keys(route?.methods ?? {})));
  if (methods.has('get')) methods.add('head');
  return [...methods].map((method) => method.toUpperCase()).sort();
}
