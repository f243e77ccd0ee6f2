SwaggerUIBundle({
  url: "openapi.json", dom_id: "#swagger", deepLinking: true, filter: true, tryItOutEnabled: true,
  persistAuthorization: false, validatorUrl: null,
});
