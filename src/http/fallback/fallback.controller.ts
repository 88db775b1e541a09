import { All, Controller, type OnModuleInit, Req, Res } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Application, Response } from 'express';
import { Configuration } from '../../config/configuration';
import { type DomainError, type FieldFault, invalidField } from '../../errors/domain-error';
import { LeavesInputUnread } from '../body/leaves-input-unread.decorator';
import { methodNotAllowed, routeNotFound } from '../errors/request-errors';
import { isPreflight } from '../middleware/cors';
import { pathOf } from '../server/readable-target';
import type { ServiceRequest } from '../service-request';
import { allowedMethods, type RouteLayer, unreadableParameter } from './route-table';

const EVERY_PATH = '*path';
const FALLBACK_PATHS = ['/', EVERY_PATH];

/** Answers what no route answers. It is a route itself, so the guards see unknown paths and preflights too. */
@ApiExcludeController()
@Controller()
export class FallbackController implements OnModuleInit {
  private routes: readonly RouteLayer[] = [];
  private readonly answersPreflights: boolean;

  constructor(
    private readonly host: HttpAdapterHost,
    configuration: Configuration,
  ) {
    this.answersPreflights = configuration.corsOrigins !== null;
  }

  /** Routes stand by now. Throws when one comes after the fallback, which would never be reached. */
  onModuleInit(): void {
    const { router } = this.host.httpAdapter.getInstance<Application>();
    const layers = (router as unknown as { readonly stack: readonly RouteLayer[] }).stack;
    const answering = layers.filter((layer) => layer.route !== undefined);
    const last = answering.at(-1);
    if (last?.route?.path !== `/${EVERY_PATH}`) {
      throw new Error(
        'A module was imported after FallbackModule, so its routes could not be reached. Import it before.',
      );
    }
    this.routes = answering.slice(0, -FALLBACK_PATHS.length);
  }

  @All(FALLBACK_PATHS)
  @LeavesInputUnread()
  answer(@Req() request: ServiceRequest, @Res({ passthrough: true }) response: Response): void {
    if (request.unreadable !== undefined) {
      throw this.unreadable(request.originalUrl, request.unreadable);
    }
    if (this.answersPreflights && isPreflight(request)) {
      response.status(204);
      return;
    }
    const allowed = allowedMethods(this.routes, request.path);
    throw allowed.length === 0 ? routeNotFound() : methodNotAllowed(request.method, allowed);
  }

  private unreadable(target: string, { field, message }: FieldFault): DomainError {
    const parameter = field === 'path' ? unreadableParameter(this.routes, pathOf(target)) : undefined;
    return invalidField(parameter === undefined ? field : `path.${parameter}`, message);
  }
}
