import type { ServiceRequest } from './service-request';

/** Template such as `/api/v1/entities/:id`; null when no route has the path. */
export function routeTemplate(request: ServiceRequest): string | null {
  const route = request.route as { readonly path?: unknown } | undefined;
  const template = typeof route?.path === 'string' ? route.path : '*';
  return template.includes('*') ? null : template;
}
