import type { ExecutionContext, Type } from '@nestjs/common';
import { METHOD_METADATA } from '@nestjs/common/constants';
import { MetadataScanner } from '@nestjs/core';

export type Handler = ReturnType<ExecutionContext['getHandler']>;

/** The methods of a controller that handle a route, with their names. */
export function handlersOf({ prototype }: Type): [name: string, handler: Handler][] {
  const methods = prototype as Record<string, Handler>;
  return new MetadataScanner().getAllMethodNames(prototype as object).flatMap((name): [string, Handler][] => {
    const method = methods[name];
    return method !== undefined && Reflect.hasMetadata(METHOD_METADATA, method) ? [[name, method]] : [];
  });
}
