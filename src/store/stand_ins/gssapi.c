/* SPDX-License-Identifier: ISC */
/* What libpq takes from the library of GSSAPI (Kerberos). Every function fails as if no mechanism
 * were there: no credentials, so libpq offers no encryption by it; and when a server asks for it,
 * libpq says so with the sentence below. Types as in RFC 2744. */
#include <stddef.h>
#include <stdint.h>

#define GSS_S_COMPLETE    0u
#define GSS_S_BAD_STATUS  (5u << 16)
#define GSS_S_UNAVAILABLE (16u << 16)
#define GSS_C_GSS_CODE    1

#define EXPORTED __attribute__((visibility("default")))

struct buffer {
    size_t length;
    const void *value;
};

/* They have more arguments, which nothing here looks at: libpq is no caller of this source. */
#define RETURNS(name, status)                                                                      \
    EXPORTED uint32_t name(uint32_t *ret_minor);                                                   \
    uint32_t name(uint32_t *ret_minor)                                                             \
    {                                                                                              \
        *ret_minor = 0;                                                                            \
        return status;                                                                             \
    }

RETURNS(gss_acquire_cred, GSS_S_UNAVAILABLE)
RETURNS(gss_import_name, GSS_S_UNAVAILABLE)
RETURNS(gss_init_sec_context, GSS_S_UNAVAILABLE)
RETURNS(gss_inquire_context, GSS_S_UNAVAILABLE)
RETURNS(gss_wrap, GSS_S_UNAVAILABLE)
RETURNS(gss_wrap_size_limit, GSS_S_UNAVAILABLE)
RETURNS(gss_unwrap, GSS_S_UNAVAILABLE)

/* Nothing was ever made that they would have to give back. */
RETURNS(gss_delete_sec_context, GSS_S_COMPLETE)
RETURNS(gss_release_buffer, GSS_S_COMPLETE)
RETURNS(gss_release_cred, GSS_S_COMPLETE)
RETURNS(gss_release_name, GSS_S_COMPLETE)

static const char sentence[] = "leaserun runs without Kerberos, which is not set up here "
                               "(no /etc/krb5.conf, no KRB5* variable)";

EXPORTED uint32_t gss_display_status(uint32_t *ret_minor, uint32_t status, int type,
                                     const void *mechanism, uint32_t *context,
                                     struct buffer *ret_text);
uint32_t gss_display_status(uint32_t *ret_minor, uint32_t status, int type, const void *mechanism,
                            uint32_t *context, struct buffer *ret_text)
{
    (void)status;
    (void)mechanism;
    *ret_minor = 0;
    *context = 0; /* no more of it */
    if (type != GSS_C_GSS_CODE)
        return GSS_S_BAD_STATUS; /* libpq asks for the mechanism's own words too */
    *ret_text = (struct buffer){.length = sizeof sentence - 1, .value = sentence};
    return GSS_S_COMPLETE;
}

EXPORTED extern const void *const GSS_C_NT_HOSTBASED_SERVICE;
const void *const GSS_C_NT_HOSTBASED_SERVICE = NULL;
