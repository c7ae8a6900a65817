// python.exe: runs the interpreter in PYTHON_DLL, which is next to it.
#include <windows.h>

typedef int (*Main)(int, wchar_t**);

int wmain(int argc, wchar_t** argv) {
  const HMODULE library = LoadLibraryW(PYTHON_DLL);
  if (library == NULL) return 127;
  const Main run = (Main)(void*)GetProcAddress(library, "Py_Main");
  return run == NULL ? 127 : run(argc, argv);
}
