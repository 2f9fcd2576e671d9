/* Random numbers as Rust's standard library asks for them on Windows 10 and later, for versions of wine that do not have this library
   (Debian 12's is one). It is made to run the program here, and is in no archive. */

unsigned char __stdcall SystemFunction036(void *buffer, unsigned long length);

__declspec(dllexport) int __stdcall ProcessPrng(unsigned char *buffer, unsigned long long length)
{
    while (length > 0) {
        unsigned long part = length < 65536 ? (unsigned long)length : 65536;
        if (!SystemFunction036(buffer, part)) {
            return 0;
        }
        buffer += part;
        length -= part;
    }
    return 1;
}
